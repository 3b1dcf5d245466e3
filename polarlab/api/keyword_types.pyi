"""Keywords of functions with options. Made by `make stubs`, for type checkers and editors alone."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

class FamilyKeywords(TypedDict, total=False):
    """Parameters of families."""

    q: int | None
    """order of the finite field (polarfly, polarstar, slimfly, bundlefly, delorme, orthogonal-fat-tree); odd prime, the order of the matrices' field (spectralfly)"""
    expand: str | None
    """clusters that are copied to grow the graph, for odd q (default none) (polarfly)"""
    supernode: str | None
    """kind of the supernodes (default iq; with --radix that of the most routers) (polarstar)"""
    degree: int | None
    """links of each router inside its supernode (d') (polarstar); links of each router inside its supernode (d'), a Paley graph of 2 d' + 1 routers (bundlefly); links of each router (jellyfish); links of each router, one to each other metanode (xpander)"""
    radix: int | None
    """network radix q + 1 + d' of the largest polarstar, in the place of q and degree (polarstar)"""
    p: int | None
    """odd prime, the radix less 1 (spectralfly)"""
    a: int | None
    """routers of a group (default product of the sizes of --local) (dragonfly); routers of a group (dragonfly3); routers of a group, half leaves and half spines (megafly)"""
    h: int | None
    """global links of a router (dragonfly); links of a leaf (multi-layer-full-mesh)"""
    groups: int | None
    """groups (default a h / trunking + 1) (dragonfly)"""
    trunking: int | None
    """links between each two groups (default a h / (groups - 1), or 1) (dragonfly)"""
    arrangement: str | None
    """arrangement of the global links (dragonfly)"""
    topology_seed: int | None
    """seed of the random arrangement (default 1) (dragonfly); seed of the graph's random links (jellyfish, xpander, dln)"""
    local: str | None
    """shape of groups that are Hamming graphs, in the place of a (default complete groups) (dragonfly)"""
    h2: int | None
    """links of a router to other groups of its supergroup (dragonfly3)"""
    h3: int | None
    """links of a router to other supergroups (dragonfly3)"""
    t2: int | None
    """links between each two groups of a supergroup (dragonfly3)"""
    t3: int | None
    """links between each two supergroups (dragonfly3)"""
    arity: int | None
    """links of a router to the level above (k) (fat-tree)"""
    levels: int | None
    """levels of routers (n) (fat-tree)"""
    rho: int | None
    """global links of a spine (megafly)"""
    layers: int | None
    """layers of h + 1 leaves (default h) (multi-layer-full-mesh)"""
    shape: str | None
    """size of each dimension (hyperx, torus)"""
    dimension: int | None
    """dimension (n) (hypercube); dimension of the hypercube (n) (long-hop)"""
    distance: int | None
    """least distance of the code (d) (long-hop)"""
    routers: int | None
    """number of routers (jellyfish, dln)"""
    lift: int | None
    """routers of each metanode (xpander)"""
    shortcuts: int | None
    """random links of each router, beside two on the ring (dln)"""
    from_: str | PathLike[str] | None
    """graph file: GraphML (.graphml), adjacency list (.adjlist) or edge list (two names a line, no weights) (graph)"""

class RunKeywords(FamilyKeywords, total=False):
    """Keywords of `run`."""

    hosts: int | None
    """hosts attached to each router"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 2Mbit, or less where generated traffic is too much for the machine)"""
    queue: int | None
    """capacity of every port's queue, in packets"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01"""
    routing: str | None
    """routing algorithm"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath"""
    framework: str | None
    """controller framework (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here"""
    occupancy: str | None
    """source of port occupancies for adaptive routings"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns`"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity"""
    seed: int | None
    """seed of the random generator"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair"""
    duration: float | None
    """measured time, in s"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals"""
    flow_sizes: str | PathLike[str] | None
    """distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """TCP flows to replay, a CSV file: time_s,source,destination,bytes"""
    flow_size_limit: int | None
    """size to which larger flows are cut, in bytes"""
    tcp: str | None
    """congestion control of the flows, of those that the kernel has (default the kernel's)"""
    drain: float | None
    """time after the last flow's start in which flows may be completed, in s"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    exec: str | Sequence[str] | None
    """program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a server: it starts first, is not waited for, and is ended at the end"""
    exec_file: str | PathLike[str] | None
    """file of programs, a line each; lines that begin with # are comments"""
    exec_timeout: float | None
    """longest time of a program since the traffic began, in s; then it is ended, and the rest kept (default 300)"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class SweepKeywords(FamilyKeywords, total=False):
    """Keywords of `sweep`."""

    hosts: int | None
    """hosts attached to each router"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 2Mbit, or less where generated traffic is too much for the machine)"""
    queue: int | None
    """capacity of every port's queue, in packets"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath"""
    framework: str | None
    """controller framework (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here"""
    occupancy: str | None
    """source of port occupancies for adaptive routings"""
    seed: int | None
    """seed of the random generator"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair"""
    duration: float | None
    """measured time, in s"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals"""
    engine: str | None
    """engine of all points; emulation: switches and real packets; simulation: simulated routers, without root"""
    routings: str | float | Sequence[str | float] | None
    """routing algorithms"""
    patterns: str | float | Sequence[str | float] | None
    """traffic patterns, of `polarlab patterns`"""
    loads: str | float | Sequence[str | float] | None
    """offered loads, as 0.1,0.5 or FIRST:LAST:STEP"""
    vary: str | Sequence[str] | Mapping[str, Any] | None
    """further values to go over, as queue=8,32 or ugal-pf.threshold=0.3:0.9:0.1; several times for several keys. KEY is an option of traffic or links, ROUTING.PARAMETER or PATTERN.PARAMETER, VALUES are a list or FIRST:LAST:STEP. Topology, hosts, mtu and datapath need a fabric of their own for each value: run a sweep for each"""
    cycles: int | None
    """length of the measured window, in cycles; a link passes a flit a cycle"""
    replan_cycles: int | str | None
    """time from a fault until switches have the controller's plan for it, in cycles; `none`: never (default 1000)"""
    flow_control: str | None
    """flow control; credit: input queues with virtual channels, which lose nothing, as the papers' routers; drop: output queues that drop what does not fit, as switches"""
    packet_flits: int | None
    """length of a packet, in flits"""
    virtual_channels: int | None
    """virtual channels of a port"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits"""
    speedup: int | None
    """flits that a router passes from an input to an output in a cycle"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: the number of its hops so far; class: one half of the channels to its intermediate router, the other from there on; any: the one with most room; random: a random one"""
    arbitration: str | None
    """order in which inputs and channels are served"""
    router_cycles: int | None
    """time of a packet's head in a router where nothing is in its way, in cycles"""
    link_cycles: int | None
    """time of a flit on a link between routers, in cycles"""
    global_link_cycles: int | None
    """time of a flit on a link between clusters of routers (supernodes, groups), in cycles (default that of --link-cycles)"""
    host_link_cycles: int | None
    """time of a flit on a link between a router and a host, in cycles"""
    credit_cycles: int | None
    """time of a credit on its way back, in cycles"""
    burst: float | None
    """packets that an idle link lets go at once, with --flow-control drop, in packets"""
    decision: str | None
    """law by which a source decides between minimal path and detours: for every packet, as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, as buckets:period=50 (cycles) (default that of the routing)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class FailoverKeywords(FamilyKeywords, total=False):
    """Keywords of `failover`."""

    hosts: int | None
    """hosts attached to each router"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries"""
    queue: int | None
    """capacity of every port's queue, in packets"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes"""
    routing: str | None
    """routing algorithm"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath"""
    framework: str | None
    """controller framework (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here"""
    occupancy: str | None
    """source of port occupancies for adaptive routings"""
    seed: int | None
    """seed of the random generator"""
    fail: str | float | Sequence[str | float] | None
    """failing elements, with commas: link:s1-s7, switch:s4, hang:s4 (its program dies, its links stay up), random:3 (links), random-link, random-switch (default the link that most minimal paths cross)"""
    kill_controller: bool | None
    """controller killed before the failure, and started again before the restoration"""
    repeat: int | None
    """number of failovers on the same fabric, a seed each, and their distribution"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class SimulateKeywords(FamilyKeywords, total=False):
    """Keywords of `simulate`."""

    hosts: int | None
    """hosts attached to each router"""
    routing: str | None
    """routing algorithm"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns`"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity"""
    seed: int | None
    """seed of the random generator"""
    arrivals: str | None
    """distribution of a host's packets over time"""
    cycles: int | None
    """length of the measured window, in cycles; a link passes a flit a cycle"""
    warmup: int | str | None
    """time before the window, in cycles; `steady`: until latency and throughput have settled (default steady; 1000 where there are faults)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2500 fail link:s1-s7`, `4000 restore link:s1-s7`, times in cycles; or random ones by their mean times, drawn from --seed, as mtbf:links=3000,mttr=1000"""
    replan_cycles: int | str | None
    """time from a fault until switches have the controller's plan for it, in cycles; `none`: never (default 1000)"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    compute_cycles: int | None
    """time that a rank computes: in a motif before each exchange or block, in an allreduce to add what it has received, in cycles"""
    flit_bytes: int | None
    """size of a flit of messages, in bytes"""
    trace: str | PathLike[str] | None
    """messages to send at their times, a CSV file: time_cycles,source,destination,bytes"""
    flow_control: str | None
    """flow control; credit: input queues with virtual channels, which lose nothing, as the papers' routers; drop: output queues that drop what does not fit, as switches"""
    packet_flits: int | None
    """length of a packet, in flits"""
    virtual_channels: int | None
    """virtual channels of a port"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits"""
    speedup: int | None
    """flits that a router passes from an input to an output in a cycle"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: the number of its hops so far; class: one half of the channels to its intermediate router, the other from there on; any: the one with most room; random: a random one"""
    arbitration: str | None
    """order in which inputs and channels are served"""
    router_cycles: int | None
    """time of a packet's head in a router where nothing is in its way, in cycles"""
    link_cycles: int | None
    """time of a flit on a link between routers, in cycles"""
    global_link_cycles: int | None
    """time of a flit on a link between clusters of routers (supernodes, groups), in cycles (default that of --link-cycles)"""
    host_link_cycles: int | None
    """time of a flit on a link between a router and a host, in cycles"""
    credit_cycles: int | None
    """time of a credit on its way back, in cycles"""
    queue: int | None
    """capacity of an output queue, with --flow-control drop, in packets"""
    burst: float | None
    """packets that an idle link lets go at once, with --flow-control drop, in packets"""
    decision: str | None
    """law by which a source decides between minimal path and detours: for every packet, as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, as buckets:period=50 (cycles) (default that of the routing)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class SaturationKeywords(FamilyKeywords, total=False):
    """Keywords of `saturation`."""

    hosts: int | None
    """hosts attached to each router"""
    routing: str | None
    """routing algorithm"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns`"""
    seed: int | None
    """seed of the random generator"""
    arrivals: str | None
    """distribution of a host's packets over time"""
    cycles: int | None
    """length of the measured window, in cycles; a link passes a flit a cycle"""
    warmup: int | str | None
    """time before the window, in cycles; `steady`: until latency and throughput have settled (default steady; 1000 where there are faults)"""
    flow_control: str | None
    """flow control; credit: input queues with virtual channels, which lose nothing, as the papers' routers; drop: output queues that drop what does not fit, as switches"""
    packet_flits: int | None
    """length of a packet, in flits"""
    virtual_channels: int | None
    """virtual channels of a port"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits"""
    speedup: int | None
    """flits that a router passes from an input to an output in a cycle"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: the number of its hops so far; class: one half of the channels to its intermediate router, the other from there on; any: the one with most room; random: a random one"""
    arbitration: str | None
    """order in which inputs and channels are served"""
    router_cycles: int | None
    """time of a packet's head in a router where nothing is in its way, in cycles"""
    link_cycles: int | None
    """time of a flit on a link between routers, in cycles"""
    global_link_cycles: int | None
    """time of a flit on a link between clusters of routers (supernodes, groups), in cycles (default that of --link-cycles)"""
    host_link_cycles: int | None
    """time of a flit on a link between a router and a host, in cycles"""
    credit_cycles: int | None
    """time of a credit on its way back, in cycles"""
    queue: int | None
    """capacity of an output queue, with --flow-control drop, in packets"""
    burst: float | None
    """packets that an idle link lets go at once, with --flow-control drop, in packets"""
    decision: str | None
    """law by which a source decides between minimal path and detours: for every packet, as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, as buckets:period=50 (cycles) (default that of the routing)"""
    precision: float | None
    """distance between neighbouring loads"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class CrosscheckKeywords(FamilyKeywords, total=False):
    """Keywords of `crosscheck`."""

    hosts: int | None
    """hosts attached to each router"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries (default 2Mbit, or less where generated traffic is too much for the machine)"""
    queue: int | None
    """capacity of every port's queue, in packets"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01"""
    routing: str | None
    """routing algorithm"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath"""
    framework: str | None
    """controller framework (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here"""
    occupancy: str | None
    """source of port occupancies for adaptive routings"""
    pattern: str | None
    """traffic pattern, one of `polarlab patterns`"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity"""
    seed: int | None
    """seed of the random generator"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair"""
    duration: float | None
    """measured time, in s"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals"""
    flow_sizes: str | PathLike[str] | None
    """distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """TCP flows to replay, a CSV file: time_s,source,destination,bytes"""
    flow_size_limit: int | None
    """size to which larger flows are cut, in bytes"""
    tcp: str | None
    """congestion control of the flows, of those that the kernel has (default the kernel's)"""
    drain: float | None
    """time after the last flow's start in which flows may be completed, in s"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    exec: str | Sequence[str] | None
    """program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a server: it starts first, is not waited for, and is ended at the end"""
    exec_file: str | PathLike[str] | None
    """file of programs, a line each; lines that begin with # are comments"""
    exec_timeout: float | None
    """longest time of a program since the traffic began, in s; then it is ended, and the rest kept (default 300)"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7"""
    out: str | PathLike[str] | None
    """output directory (default a new one in results/)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class UpKeywords(FamilyKeywords, total=False):
    """Keywords of `Fabric`."""

    hosts: int | None
    """hosts attached to each router"""
    link_rate: str | None
    """rate of every port, as 500kbit; auto: the highest that the machine carries"""
    queue: int | None
    """capacity of every port's queue, in packets"""
    mtu: int | None
    """maximum transmission unit of every port, in bytes"""
    link_delay: float | None
    """one-way delay of every link between routers, in ms"""
    link_loss: float | None
    """packet loss probability of every link between routers, as 0.01"""
    routing: str | None
    """routing algorithm"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs (default with)"""
    ordered_repair: bool | None
    """fast reroute only by alternates that keep to an order of channels"""
    datapath: str | None
    """Open vSwitch datapath"""
    framework: str | None
    """controller framework (default auto: ryu where it is installed)"""
    host_root: str | None
    """root of hosts: own, not the machine's; real: programs on hosts are root here"""
    occupancy: str | None
    """source of port occupancies for adaptive routings"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7"""
    out: str | PathLike[str] | None
    """output directory of the session: loads and drops of links over time, faults, and the lines that ran (default nothing is written)"""
    run_programs: bool | None
    """programs, input files and an output directory that a file or results of another user name, and another user's plug-ins, are used without a question"""

class TrafficKeywords(TypedDict, total=False):
    """Keywords of `Fabric.traffic`."""

    pattern: str | None
    """traffic pattern, one of `polarlab patterns`"""
    load: float | None
    """offered load, over 0 and at most 1 of the hosts' capacity"""
    seed: int | None
    """seed of the random generator"""
    frame_bytes: int | None
    """length of every frame, without FCS, in bytes (default 1000; of collectives, the MTU's)"""
    flows: int | None
    """source ports per host pair"""
    duration: float | None
    """measured time, in s"""
    warmup: float | str | None
    """time before the measurement, in s; `steady`: until throughput has settled, or had ten times as long to do so as it takes at least (default steady; with --faults and for TCP flows the time in which three full queues drain, 2 s at least)"""
    arrivals: str | None
    """distribution of a host's packets over time"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random ones by their mean times, drawn from --seed, as mtbf:links=30s,mttr=10s"""
    repeat: int | None
    """number of replications, a seed each; results are means with 95 % intervals"""
    flow_sizes: str | PathLike[str] | None
    """distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """TCP flows to replay, a CSV file: time_s,source,destination,bytes"""
    flow_size_limit: int | None
    """size to which larger flows are cut, in bytes"""
    tcp: str | None
    """congestion control of the flows, of those that the kernel has (default the kernel's)"""
    drain: float | None
    """time after the last flow's start in which flows may be completed, in s"""
    ranks: int | None
    """number of ranks (default all hosts; of motifs, a grid of equal sizes)"""
    placement: str | None
    """assignment of ranks to hosts; random:SEED has a seed of its own"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones"""
    slices: int | None
    """slices of an allreduce's vector that are worked on side by side (default 2)"""
    exec: str | Sequence[str] | None
    """program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a server: it starts first, is not waited for, and is ended at the end"""
    exec_file: str | PathLike[str] | None
    """file of programs, a line each; lines that begin with # are comments"""
    exec_timeout: float | None
    """longest time of a program since the traffic began, in s; then it is ended, and the rest kept (default 300)"""
    pcap: str | Sequence[str] | None
    """places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, both ends of links as link:s1-s7"""
    out: str | PathLike[str] | None
    """output directory (default a new one in results/)"""
