"""Keywords of functions with options. Made by `make stubs`, for type checkers and editors alone."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

class FamilyKeywords(TypedDict, total=False):
    """Parameters of families."""

    q: int | None
    """order of the finite field: a prime power, 2 to 128 (polarfly, polarstar); order of the finite field: a prime power, 3 to 89 (slimfly); order of the finite field: a prime power, 3 to 37 (bundlefly); odd prime, the order of the matrices' field: a prime above 2 sqrt(p), not p, at most 31 (spectralfly); order of the finite field: 2 or 8 (delorme); order of the finite field: a prime power, 2 to 73 (orthogonal-fat-tree)"""
    expand: str | None
    """clusters to copy to expand the graph, for odd q: quadric:N or nonquadric:N, with N >= 1 copied clusters (default none) (polarfly)"""
    supernode: str | None
    """kind of the supernodes: one of iq, paley, complete, bdf (default iq; with --radix, the one with the most routers) (polarstar)"""
    degree: int | None
    """links of each router inside its supernode (d'): 0 to 64 (polarstar); links of each router inside its supernode (d'), a Paley graph of 2 d' + 1 routers: (r - 1) / 2 for a prime power r = 1 modulo 4 (bundlefly); links of each router: 3 to the number of routers minus 1 (jellyfish); links of each router, one to each other metanode: 3 to 16383 (xpander)"""
    radix: int | None
    """network radix q + 1 + d': builds its largest polarstar, instead of q and degree: 3 or more (polarstar)"""
    p: int | None
    """odd prime, the radix minus 1: an odd prime, 3 to 233 (spectralfly)"""
    a: int | None
    """routers of a group: 2 to 16384 (default product of the sizes of --local) (dragonfly); routers of a group: 2 to 16384 (dragonfly3); routers of a group, half leaves and half spines: 2 to 16384 (megafly)"""
    h: int | None
    """global links of a router: 1 to 16384 (dragonfly); links of a leaf: 2 to 180 (multi-layer-full-mesh)"""
    groups: int | None
    """groups: 2 to 16384 (default a h / trunking + 1) (dragonfly)"""
    trunking: int | None
    """links between every two groups: 1 to 16384 (default a h / (groups - 1), or 1) (dragonfly)"""
    arrangement: str | None
    """arrangement of the global links: one of palmtree, consecutive, circulant, random (default palmtree) (dragonfly)"""
    topology_seed: int | None
    """seed of the random arrangement: 0 or more (default 1) (dragonfly); seed of the graph's random links: 0 to 9223372036854775807 (default 1) (jellyfish, xpander, dln)"""
    local: str | None
    """shape of groups that are Hamming graphs, instead of a: sizes of 2 or more separated by x, such as 4x4, with at most 16384 routers (default complete groups) (dragonfly)"""
    h2: int | None
    """links of a router to other groups of its supergroup: 1 to 16384 (dragonfly3)"""
    h3: int | None
    """links of a router to other supergroups: 1 to 16384 (dragonfly3)"""
    t2: int | None
    """links between every two groups of a supergroup: 1 to 16384 (default 1) (dragonfly3)"""
    t3: int | None
    """links between every two supergroups: 1 to 16384 (default 1) (dragonfly3)"""
    arity: int | None
    """links of a router to the next level (k): 2 to 8192 (fat-tree)"""
    levels: int | None
    """levels of routers (n): 2 to 14 (fat-tree)"""
    rho: int | None
    """global links of a spine: 1 to 16384 (megafly)"""
    layers: int | None
    """layers of h + 1 leaves: 1 or more (default h) (multi-layer-full-mesh)"""
    shape: str | None
    """size of each dimension: sizes of 2 or more separated by x, such as 4x4, with at most 16384 routers (hyperx, torus)"""
    dimension: int | None
    """dimension (n): 1 to 14 (hypercube); dimension of the hypercube (n): 3 to 14 (long-hop)"""
    distance: int | None
    """minimum distance of the code (d): 3 to 8 (default 3) (long-hop)"""
    routers: int | None
    """number of routers: 4 to 16384 (jellyfish, dln)"""
    lift: int | None
    """routers of each metanode: 1 to 4096 (xpander)"""
    shortcuts: int | None
    """random links of each router, in addition to two on the ring: 1 to the number of routers minus 3 (dln)"""
    from_: str | PathLike[str] | None
    """graph file: GraphML (.graphml), adjacency list (.adjlist) or edge list (two names per line, no weights) (graph)"""

class RunKeywords(FamilyKeywords, total=False):
    """Keywords of `run`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 2Mbit, or less where generated traffic is too much for the machine)"""
    queue: int | None
    """capacity of every port's queue, in packets (default 32)"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes (default 1500)"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01 (default 0)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, ryu, os-ken (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns` (default uniform)"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair (default 64)"""
    duration: float | None
    """measured time, in s (default 10)"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals (default 1)"""
    flow_sizes: str | PathLike[str] | None
    """distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """TCP flows to replay, a CSV file: time_s,source,destination,bytes (default none)"""
    flow_size_limit: int | None
    """size to which larger flows are cut, in bytes (default none)"""
    tcp: str | None
    """congestion control of the flows, of those that the kernel has (default the kernel's)"""
    drain: float | None
    """time after the last flow's start in which flows may be completed, in s (default 10)"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own: linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 5)"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    exec: str | Sequence[str] | None
    """program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a server: it starts first, is not waited for, and is ended at the end (default none)"""
    exec_file: str | PathLike[str] | None
    """file of programs, a line each; lines that begin with # are comments (default none)"""
    exec_timeout: float | None
    """longest time of a program since the traffic began, in s; then it is ended, and the rest kept (default 300)"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7 (default none)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class SweepKeywords(FamilyKeywords, total=False):
    """Keywords of `sweep`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 2Mbit, or less where generated traffic is too much for the machine)"""
    queue: int | None
    """capacity of every port's queue, in packets (default 32)"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes (default 1500)"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01 (default 0)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, ryu, os-ken (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair (default 64)"""
    duration: float | None
    """measured time, in s (default 10)"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals (default 1)"""
    engine: str | None
    """engine of all points; emulation: switches and real packets; simulation: simulated routers, without root (default emulation)"""
    routings: str | float | Sequence[str | float] | None
    """routing algorithms (default min,ugal-pf)"""
    patterns: str | float | Sequence[str | float] | None
    """traffic patterns, of `polarlab patterns` (default uniform,tornado)"""
    loads: str | float | Sequence[str | float] | None
    """offered loads, as 0.1,0.5 or FIRST:LAST:STEP (default 0.1:0.9:0.2)"""
    vary: str | Sequence[str] | Mapping[str, Any] | None
    """further values to go over, as queue=8,32 or ugal-pf.threshold=0.3:0.9:0.1; several times for several keys. KEY is an option of traffic or links, ROUTING.PARAMETER or PATTERN.PARAMETER, VALUES are a list or FIRST:LAST:STEP. Topology, hosts, mtu and datapath need a fabric of their own for each value: run a sweep for each (default none)"""
    cycles: int | None
    """length of the measured window, in cycles; a link passes a flit a cycle (default 3000)"""
    replan_cycles: int | str | None
    """time from a fault until switches have the controller's plan for it, in cycles; `none`: never (default 1000)"""
    flow_control: str | None
    """flow control; credit: input queues with virtual channels, which lose nothing, as the papers' routers; drop: output queues that drop what does not fit, as switches (default credit)"""
    packet_flits: int | None
    """length of a packet, in flits (default 4)"""
    virtual_channels: int | None
    """virtual channels of a port (default 4)"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits (default 32)"""
    speedup: int | None
    """flits that a router passes from an input to an output in a cycle (default 2)"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: the number of its hops so far; class: one half of the channels to its intermediate router, the other from there on; any: the one with most room; random: a random one (default hop)"""
    arbitration: str | None
    """order in which inputs and channels are served: round-robin, random (default round-robin)"""
    router_cycles: int | None
    """time of a packet's head in a router where nothing is in its way, in cycles (default 2)"""
    link_cycles: int | None
    """time of a flit on a link between routers, in cycles (default 1)"""
    global_link_cycles: int | None
    """time of a flit on a link between clusters of routers (supernodes, groups), in cycles (default that of --link-cycles)"""
    host_link_cycles: int | None
    """time of a flit on a link between a router and a host, in cycles (default 1)"""
    credit_cycles: int | None
    """time of a credit on its way back, in cycles (default 2)"""
    burst: float | None
    """packets that an idle link lets go at once, with --flow-control drop, in packets (default 2)"""
    decision: str | None
    """law by which a source decides between minimal path and detours: for every packet, as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, as buckets:period=50 (cycles) (default that of the routing)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class FailoverKeywords(FamilyKeywords, total=False):
    """Keywords of `failover`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 20Mbit)"""
    queue: int | None
    """capacity of every port's queue, in packets (default 32)"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes (default 1500)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, ryu, os-ken (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    fail: str | float | Sequence[str | float] | None
    """failing elements, with commas: link:s1-s7, switch:s4, hang:s4 (its program dies, its links stay up), random:3 (links), random-link, random-switch (default the link that most minimal paths cross)"""
    kill_controller: bool | None
    """controller killed before the failure, and started again before the restoration"""
    repeat: int | None
    """number of failovers on the same fabric, a seed each, and their distribution (default 1)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class SimulateKeywords(FamilyKeywords, total=False):
    """Keywords of `simulate`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    routing: str | None
    """routing algorithm (default min)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns` (default uniform)"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    arrivals: str | None
    """distribution of a host's packets over time: poisson, bernoulli, constant (default bernoulli)"""
    cycles: int | None
    """length of the measured window, in cycles; a link passes a flit a cycle (default 3000)"""
    warmup: int | str | None
    """time before the window, in cycles; `steady`: until latency and throughput have settled (default steady; 1000 where there are faults)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2500 fail link:s1-s7`, `4000 restore link:s1-s7`, times in cycles; or random ones by their mean times, drawn from --seed, as mtbf:links=3000,mttr=1000 (default none)"""
    replan_cycles: int | str | None
    """time from a fault until switches have the controller's plan for it, in cycles; `none`: never (default 1000)"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals (default 1)"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own: linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    compute_cycles: int | None
    """time that a rank computes: in a motif before each exchange or block, in an allreduce to add what it has received, in cycles (default 0)"""
    flit_bytes: int | None
    """size of a flit of messages, in bytes (default 32)"""
    trace: str | PathLike[str] | None
    """messages to send at their times, a CSV file: time_cycles,source,destination,bytes (default none)"""
    flow_control: str | None
    """flow control; credit: input queues with virtual channels, which lose nothing, as the papers' routers; drop: output queues that drop what does not fit, as switches (default credit)"""
    packet_flits: int | None
    """length of a packet, in flits (default 4)"""
    virtual_channels: int | None
    """virtual channels of a port (default 4)"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits (default 32)"""
    speedup: int | None
    """flits that a router passes from an input to an output in a cycle (default 2)"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: the number of its hops so far; class: one half of the channels to its intermediate router, the other from there on; any: the one with most room; random: a random one (default hop)"""
    arbitration: str | None
    """order in which inputs and channels are served: round-robin, random (default round-robin)"""
    router_cycles: int | None
    """time of a packet's head in a router where nothing is in its way, in cycles (default 2)"""
    link_cycles: int | None
    """time of a flit on a link between routers, in cycles (default 1)"""
    global_link_cycles: int | None
    """time of a flit on a link between clusters of routers (supernodes, groups), in cycles (default that of --link-cycles)"""
    host_link_cycles: int | None
    """time of a flit on a link between a router and a host, in cycles (default 1)"""
    credit_cycles: int | None
    """time of a credit on its way back, in cycles (default 2)"""
    queue: int | None
    """capacity of an output queue, with --flow-control drop, in packets (default 32)"""
    burst: float | None
    """packets that an idle link lets go at once, with --flow-control drop, in packets (default 2)"""
    decision: str | None
    """law by which a source decides between minimal path and detours: for every packet, as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, as buckets:period=50 (cycles) (default that of the routing)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class SaturationKeywords(FamilyKeywords, total=False):
    """Keywords of `saturation`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    routing: str | None
    """routing algorithm (default min)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns` (default uniform)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    arrivals: str | None
    """distribution of a host's packets over time: poisson, bernoulli, constant (default bernoulli)"""
    cycles: int | None
    """length of the measured window, in cycles; a link passes a flit a cycle (default 3000)"""
    warmup: int | str | None
    """time before the window, in cycles; `steady`: until latency and throughput have settled (default steady; 1000 where there are faults)"""
    flow_control: str | None
    """flow control; credit: input queues with virtual channels, which lose nothing, as the papers' routers; drop: output queues that drop what does not fit, as switches (default credit)"""
    packet_flits: int | None
    """length of a packet, in flits (default 4)"""
    virtual_channels: int | None
    """virtual channels of a port (default 4)"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits (default 32)"""
    speedup: int | None
    """flits that a router passes from an input to an output in a cycle (default 2)"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: the number of its hops so far; class: one half of the channels to its intermediate router, the other from there on; any: the one with most room; random: a random one (default hop)"""
    arbitration: str | None
    """order in which inputs and channels are served: round-robin, random (default round-robin)"""
    router_cycles: int | None
    """time of a packet's head in a router where nothing is in its way, in cycles (default 2)"""
    link_cycles: int | None
    """time of a flit on a link between routers, in cycles (default 1)"""
    global_link_cycles: int | None
    """time of a flit on a link between clusters of routers (supernodes, groups), in cycles (default that of --link-cycles)"""
    host_link_cycles: int | None
    """time of a flit on a link between a router and a host, in cycles (default 1)"""
    credit_cycles: int | None
    """time of a credit on its way back, in cycles (default 2)"""
    queue: int | None
    """capacity of an output queue, with --flow-control drop, in packets (default 32)"""
    burst: float | None
    """packets that an idle link lets go at once, with --flow-control drop, in packets (default 2)"""
    decision: str | None
    """law by which a source decides between minimal path and detours: for every packet, as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, as buckets:period=50 (cycles) (default that of the routing)"""
    precision: float | None
    """distance between neighbouring loads (default 0.01)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class CrosscheckKeywords(FamilyKeywords, total=False):
    """Keywords of `crosscheck`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 2Mbit, or less where generated traffic is too much for the machine)"""
    queue: int | None
    """capacity of every port's queue, in packets (default 32)"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes (default 1500)"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01 (default 0)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, ryu, os-ken (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns` (default uniform)"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair (default 64)"""
    duration: float | None
    """measured time, in s (default 10)"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals (default 1)"""
    flow_sizes: str | PathLike[str] | None
    """distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """TCP flows to replay, a CSV file: time_s,source,destination,bytes (default none)"""
    flow_size_limit: int | None
    """size to which larger flows are cut, in bytes (default none)"""
    tcp: str | None
    """congestion control of the flows, of those that the kernel has (default the kernel's)"""
    drain: float | None
    """time after the last flow's start in which flows may be completed, in s (default 10)"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own: linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 5)"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    exec: str | Sequence[str] | None
    """program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a server: it starts first, is not waited for, and is ended at the end (default none)"""
    exec_file: str | PathLike[str] | None
    """file of programs, a line each; lines that begin with # are comments (default none)"""
    exec_timeout: float | None
    """longest time of a program since the traffic began, in s; then it is ended, and the rest kept (default 300)"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7 (default none)"""
    out: str | PathLike[str] | None
    """output directory (default a new one in results/)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class UpKeywords(FamilyKeywords, total=False):
    """Keywords of `Fabric`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 2Mbit)"""
    queue: int | None
    """capacity of every port's queue, in packets (default 32)"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes (default 1500)"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01 (default 0)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, ryu, os-ken (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7 (default none)"""
    out: str | PathLike[str] | None
    """output directory of the session: loads and drops of links over time, faults, and the lines that ran (default nothing is written)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class TrafficKeywords(TypedDict, total=False):
    """Keywords of `Fabric.traffic`."""

    pattern: str | None
    """traffic pattern, one of `polarlab patterns` (default uniform)"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair (default 64)"""
    duration: float | None
    """measured time, in s (default 10)"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals (default 1)"""
    flow_sizes: str | PathLike[str] | None
    """distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """TCP flows to replay, a CSV file: time_s,source,destination,bytes (default none)"""
    flow_size_limit: int | None
    """size to which larger flows are cut, in bytes (default none)"""
    tcp: str | None
    """congestion control of the flows, of those that the kernel has (default the kernel's)"""
    drain: float | None
    """time after the last flow's start in which flows may be completed, in s (default 10)"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own: linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 5)"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    exec: str | Sequence[str] | None
    """program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a server: it starts first, is not waited for, and is ended at the end (default none)"""
    exec_file: str | PathLike[str] | None
    """file of programs, a line each; lines that begin with # are comments (default none)"""
    exec_timeout: float | None
    """longest time of a program since the traffic began, in s; then it is ended, and the rest kept (default 300)"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7 (default none)"""
    out: str | PathLike[str] | None
    """output directory (default a new one in results/)"""
