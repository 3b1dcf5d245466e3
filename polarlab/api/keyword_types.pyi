"""Keywords of functions with options. Made by `make stubs`, for type checkers and editors alone."""

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, TypedDict

class FamilyKeywords(TypedDict, total=False):
    """Parameters of families."""

    q: int | None
    """order of the finite field: a prime power, 2 to 128 (polarfly, polarstar); order of the finite field: a prime power, 3 to 89 (slimfly); order of the finite field: a prime power, 3 to 37 (bundlefly); order of the matrices' field: a prime above 2 sqrt(p), not p, at most 31 (spectralfly); order of the finite field: 2 or 8 (delorme); order of the finite field: a prime power, 2 to 73 (orthogonal-fat-tree)"""
    expand: str | None
    """clusters to copy to expand the graph, for odd q: quadric:N, nonquadric:N, or steps such as quadric,nonquadric=3, with N >= 1 copied clusters (default none) (polarfly)"""
    supernode: str | None
    """kind of the supernodes: one of iq, paley, complete, bdf, cayley (default iq; with --radix, the one with the most routers) (polarstar)"""
    degree: int | None
    """links of each router inside its supernode (d'): 0 to 64 (polarstar); links of each router inside its supernode (d'), a Paley graph of 2 d' + 1 routers: (r - 1) / 2 for a prime power r = 1 modulo 4 (bundlefly); links of each router: 3 to the number of routers minus 1 (jellyfish); links of each router, one to each other metanode: 3 to 16383 (xpander)"""
    radix: int | None
    """network radix q + 1 + d', for the largest polarstar, instead of --q and --degree: 3 or more (polarstar)"""
    p: int | None
    """the radix minus 1: an odd prime, 3 to 233 (spectralfly)"""
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
    """shape of groups that are Hamming graphs, instead of --a: sizes of 2 or more separated by x, such as 4x4, with at most 16384 routers (default complete groups) (dragonfly)"""
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
    depth: int | None
    """levels of switches (d): 2 to 14 (tree)"""
    fanout: int | None
    """switches below a switch (f): 2 to 8192 (tree)"""
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
    """rate of every port, for example 500kbit; auto: the highest that this machine sustains (default 2Mbit, or less if generated traffic would overload this machine)"""
    queue: int | None
    """capacity of each port's queue, in packets (default 32)"""
    mtu: int | str | None
    """maximum transmission unit of each port, in bytes (default 1500)"""
    link_delay: float | str | None
    """one-way delay of each link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of each link between routers, such as 0.01 (default 0)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs paths (default on)"""
    ordered_repair: bool | None
    """fast reroute only over alternates that keep the channel order acyclic"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, os-ken, ryu (default auto: os-ken)"""
    host_root: str | None
    """root user of hosts; own: not this machine's root; real: root of this machine (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    pattern: str | None
    """traffic pattern; `polarlab patterns` lists all (default uniform)"""
    load: float | None
    """offered load as a fraction of injection capacity, up to 1 (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | str | None
    """frame length without FCS, in bytes (default 1000; for collectives, set by the MTU)"""
    flows: int | None
    """source ports (flows) per host pair (default 64)"""
    duration: float | str | None
    """length of the measurement window, in s (default 10)"""
    warmup: float | str | None
    """time before the window, in s; `steady`: until throughput has settled; gives up after ten times the minimum warm-up (default steady; with --faults and for TCP flows, the time to drain three full queues, at least 2 s)"""
    arrivals: str | None
    """arrival process of each host's packets: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random failures drawn from --seed by mean times, mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, each with its own seed; results are means with 95 % intervals (default 1)"""
    flow_sizes: str | PathLike[str] | None
    """distribution of TCP flow sizes: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """CSV file of TCP flows to replay: time_s,source,destination,bytes (default none)"""
    flow_size_limit: int | str | None
    """size limit, in bytes; larger flows are truncated to it (default none)"""
    tcp: str | None
    """congestion control of the flows, an algorithm of this kernel (default the kernel's)"""
    drain: float | str | None
    """time after the last flow start in which flows can complete, in s (default 10)"""
    ranks: int | None
    """number of ranks (default all hosts; for motifs, the largest grid with equal sides)"""
    placement: str | None
    """assignment of ranks to hosts (random:SEED sets its own seed): linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, such as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 5)"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are processed in parallel (default 2)"""
    exec: str | Sequence[str] | None
    """host and command, such as "h1_1 iperf3 -c h5_1"; several start together. A line that ends with & is a server: it starts first and is terminated when the traffic ends (default none)"""
    exec_file: str | PathLike[str] | None
    """file of programs, one per line; lines that start with # are comments (default none)"""
    exec_timeout: float | str | None
    """timeout of programs, counted from the start of traffic, in s; after it, other programs and all measurements continue (default 300)"""
    pcap: str | Sequence[str] | None
    """capture packets at hosts (h1_1), switch ports (s5-eth3 or s5:3) or both ends of links (link:s1-s7), separated by commas (default none)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""

class SweepKeywords(FamilyKeywords, total=False):
    """Keywords of `sweep`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, for example 500kbit; auto: the highest that this machine sustains (default 2Mbit, or less if generated traffic would overload this machine)"""
    queue: int | None
    """capacity of each port's queue, in packets (default 32)"""
    mtu: int | str | None
    """maximum transmission unit of each port, in bytes (default 1500)"""
    link_delay: float | str | None
    """one-way delay of each link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of each link between routers, such as 0.01 (default 0)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs paths (default on)"""
    ordered_repair: bool | None
    """fast reroute only over alternates that keep the channel order acyclic"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, os-ken, ryu (default auto: os-ken)"""
    host_root: str | None
    """root user of hosts; own: not this machine's root; real: root of this machine (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | str | None
    """frame length without FCS, in bytes (default 1000; for collectives, set by the MTU)"""
    flows: int | None
    """source ports (flows) per host pair (default 64)"""
    duration: float | str | None
    """length of the measurement window, in s (default 10)"""
    warmup: float | str | None
    """time before the window, in s; `steady`: until throughput has settled; gives up after ten times the minimum warm-up (default steady; with --faults and for TCP flows, the time to drain three full queues, at least 2 s)"""
    arrivals: str | None
    """arrival process of each host's packets: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random failures drawn from --seed by mean times, mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, each with its own seed; results are means with 95 % intervals (default 1)"""
    engine: str | None
    """engine of all points; emulation: switches and real packets; simulation: simulated routers, no root needed (default emulation)"""
    routings: str | float | Sequence[str | float] | None
    """routing algorithms (default min,ugal-pf)"""
    patterns: str | float | Sequence[str | float] | None
    """traffic patterns; `polarlab patterns` lists all (default uniform,tornado)"""
    loads: str | float | Sequence[str | float] | None
    """offered loads, such as 0.1,0.5 or FIRST:LAST:STEP (default 0.1:0.9:0.2)"""
    vary: str | Sequence[str] | Mapping[str, Any] | None
    """further values to sweep, such as queue=8,32 or ugal-pf.threshold=0.3:0.9:0.1; repeat it for several keys. KEY is an option of traffic or links, ROUTING.PARAMETER or PATTERN.PARAMETER; VALUES are a list or FIRST:LAST:STEP. Topology, hosts, mtu and datapath need a new fabric for each value: run one sweep per value (default none)"""
    cycles: int | None
    """length of the measurement window, in cycles; a link carries one flit per cycle (default 3000)"""
    replan_cycles: int | str | None
    """time from a fault until switches have the controller's new plan, in cycles; `none`: never (default 1000)"""
    flow_control: str | None
    """flow control; credit: lossless input queues with virtual channels, like the papers' routers; drop: output queues that drop packets when full, like switches (default credit)"""
    packet_flits: int | None
    """length of a packet, in flits (default 4)"""
    virtual_channels: int | None
    """virtual channels of a port (default 4)"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits (default 32)"""
    speedup: int | None
    """flits that a router moves from an input to an output per cycle (default 2)"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: its number of hops so far; class: one half of the channels up to its intermediate router, the other half after it; level: its place in hierarchical paths; any: the one with most free buffer; free: a random one with room; random: a random one (default hop)"""
    arbitration: str | None
    """order in which inputs and channels are served: round-robin, random (default round-robin)"""
    router_cycles: int | None
    """time of a packet's head flit in an uncontended router, in cycles (default 2)"""
    link_cycles: int | None
    """latency of a link between routers, in cycles (default 1)"""
    global_link_cycles: int | None
    """latency of a link between clusters of routers (supernodes, groups), in cycles (default --link-cycles)"""
    host_link_cycles: int | None
    """latency of a link between a router and a host, in cycles (default 1)"""
    credit_cycles: int | None
    """time for a credit to return upstream, in cycles (default 2)"""
    burst: float | None
    """burst that an idle link sends back to back, in packets; for --flow-control drop (default 2)"""
    decision: str | None
    """rule by which a source chooses minimal path or detour: for each packet, such as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, such as buckets:period=50 (cycles) (default set by the routing)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""

class FailoverKeywords(FamilyKeywords, total=False):
    """Keywords of `failover`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, for example 500kbit; auto: the highest that this machine sustains (default 20Mbit)"""
    queue: int | None
    """capacity of each port's queue, in packets (default 32)"""
    mtu: int | str | None
    """maximum transmission unit of each port, in bytes (default 1500)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs paths (default on)"""
    ordered_repair: bool | None
    """fast reroute only over alternates that keep the channel order acyclic"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, os-ken, ryu (default auto: os-ken)"""
    host_root: str | None
    """root user of hosts; own: not this machine's root; real: root of this machine (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    fail: str | float | Sequence[str | float] | None
    """links and switches to fail, separated by commas: link:s1-s7, switch:s4, hang:s4 (its program dies, its links stay up), random:3 (links), random-link, random-switch (default the link on the largest number of minimal paths)"""
    kill_controller: bool | None
    """kill the controller before the failure and restart it before the restoration"""
    repeat: int | None
    """number of failovers on the same fabric, each with its own seed (default 1)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""

class SimulateKeywords(FamilyKeywords, total=False):
    """Keywords of `simulate`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    routing: str | None
    """routing algorithm (default min)"""
    ordered_repair: bool | None
    """fast reroute only over alternates that keep the channel order acyclic"""
    pattern: str | None
    """traffic pattern; `polarlab patterns` lists all (default uniform)"""
    load: float | None
    """offered load as a fraction of injection capacity, up to 1 (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    arrivals: str | None
    """arrival process of each host's packets: poisson, bernoulli, constant (default bernoulli)"""
    cycles: int | None
    """length of the measurement window, in cycles; a link carries one flit per cycle (default 3000)"""
    warmup: int | str | None
    """time before the window, in cycles; `steady`: until latency and throughput have settled (default steady; 1000 with --faults)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2500 fail link:s1-s7`, `4000 restore link:s1-s7`, times in cycles; or random failures drawn from --seed by mean times, mtbf:links=3000,mttr=1000 (default none)"""
    replan_cycles: int | str | None
    """time from a fault until switches have the controller's new plan, in cycles; `none`: never (default 1000)"""
    repeat: int | None
    """number of replications, each with its own seed; results are means with 95 % intervals (default 1)"""
    ranks: int | None
    """number of ranks (default all hosts; for motifs, the largest grid with equal sides)"""
    placement: str | None
    """assignment of ranks to hosts (random:SEED sets its own seed): linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, such as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are processed in parallel (default 2)"""
    compute_cycles: int | None
    """computation time of a rank, in cycles; in a motif before each exchange or block, in an allreduce for adding what it has received (default 0)"""
    flit_bytes: int | str | None
    """size of a flit, in bytes (default 32)"""
    trace: str | PathLike[str] | None
    """CSV file of messages to send at given times: time_cycles,source,destination,bytes (default none)"""
    flow_control: str | None
    """flow control; credit: lossless input queues with virtual channels, like the papers' routers; drop: output queues that drop packets when full, like switches (default credit)"""
    packet_flits: int | None
    """length of a packet, in flits (default 4)"""
    virtual_channels: int | None
    """virtual channels of a port (default 4)"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits (default 32)"""
    speedup: int | None
    """flits that a router moves from an input to an output per cycle (default 2)"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: its number of hops so far; class: one half of the channels up to its intermediate router, the other half after it; level: its place in hierarchical paths; any: the one with most free buffer; free: a random one with room; random: a random one (default hop)"""
    arbitration: str | None
    """order in which inputs and channels are served: round-robin, random (default round-robin)"""
    router_cycles: int | None
    """time of a packet's head flit in an uncontended router, in cycles (default 2)"""
    link_cycles: int | None
    """latency of a link between routers, in cycles (default 1)"""
    global_link_cycles: int | None
    """latency of a link between clusters of routers (supernodes, groups), in cycles (default --link-cycles)"""
    host_link_cycles: int | None
    """latency of a link between a router and a host, in cycles (default 1)"""
    credit_cycles: int | None
    """time for a credit to return upstream, in cycles (default 2)"""
    queue: int | None
    """capacity of an output queue, in packets; for --flow-control drop (default 32)"""
    burst: float | None
    """burst that an idle link sends back to back, in packets; for --flow-control drop (default 2)"""
    decision: str | None
    """rule by which a source chooses minimal path or detour: for each packet, such as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, such as buckets:period=50 (cycles) (default set by the routing)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""

class SaturationKeywords(FamilyKeywords, total=False):
    """Keywords of `saturation`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    routing: str | None
    """routing algorithm (default min)"""
    ordered_repair: bool | None
    """fast reroute only over alternates that keep the channel order acyclic"""
    pattern: str | None
    """traffic pattern; `polarlab patterns` lists all (default uniform)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    arrivals: str | None
    """arrival process of each host's packets: poisson, bernoulli, constant (default bernoulli)"""
    cycles: int | None
    """length of the measurement window, in cycles; a link carries one flit per cycle (default 3000)"""
    warmup: int | str | None
    """time before the window, in cycles; `steady`: until latency and throughput have settled (default steady; 1000 with --faults)"""
    flow_control: str | None
    """flow control; credit: lossless input queues with virtual channels, like the papers' routers; drop: output queues that drop packets when full, like switches (default credit)"""
    packet_flits: int | None
    """length of a packet, in flits (default 4)"""
    virtual_channels: int | None
    """virtual channels of a port (default 4)"""
    buffer_flits: int | None
    """capacity of a virtual channel's buffer, in flits (default 32)"""
    speedup: int | None
    """flits that a router moves from an input to an output per cycle (default 2)"""
    channel_policy: str | None
    """virtual channel of a packet's next hop; hop: its number of hops so far; class: one half of the channels up to its intermediate router, the other half after it; level: its place in hierarchical paths; any: the one with most free buffer; free: a random one with room; random: a random one (default hop)"""
    arbitration: str | None
    """order in which inputs and channels are served: round-robin, random (default round-robin)"""
    router_cycles: int | None
    """time of a packet's head flit in an uncontended router, in cycles (default 2)"""
    link_cycles: int | None
    """latency of a link between routers, in cycles (default 1)"""
    global_link_cycles: int | None
    """latency of a link between clusters of routers (supernodes, groups), in cycles (default --link-cycles)"""
    host_link_cycles: int | None
    """latency of a link between a router and a host, in cycles (default 1)"""
    credit_cycles: int | None
    """time for a credit to return upstream, in cycles (default 2)"""
    queue: int | None
    """capacity of an output queue, in packets; for --flow-control drop (default 32)"""
    burst: float | None
    """burst that an idle link sends back to back, in packets; for --flow-control drop (default 2)"""
    decision: str | None
    """rule by which a source chooses minimal path or detour: for each packet, such as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by the routing's control law, such as buckets:period=50 (cycles) (default set by the routing)"""
    precision: float | None
    """step between the loads that are tried (default 0.01)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""

class CrosscheckKeywords(FamilyKeywords, total=False):
    """Keywords of `crosscheck`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, for example 500kbit; auto: the highest that this machine sustains (default 2Mbit, or less if generated traffic would overload this machine)"""
    queue: int | None
    """capacity of each port's queue, in packets (default 32)"""
    mtu: int | str | None
    """maximum transmission unit of each port, in bytes (default 1500)"""
    link_delay: float | str | None
    """one-way delay of each link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of each link between routers, such as 0.01 (default 0)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs paths (default on)"""
    ordered_repair: bool | None
    """fast reroute only over alternates that keep the channel order acyclic"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, os-ken, ryu (default auto: os-ken)"""
    host_root: str | None
    """root user of hosts; own: not this machine's root; real: root of this machine (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    pattern: str | None
    """traffic pattern; `polarlab patterns` lists all (default uniform)"""
    load: float | None
    """offered load as a fraction of injection capacity, up to 1 (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | str | None
    """frame length without FCS, in bytes (default 1000; for collectives, set by the MTU)"""
    flows: int | None
    """source ports (flows) per host pair (default 64)"""
    duration: float | str | None
    """length of the measurement window, in s (default 10)"""
    warmup: float | str | None
    """time before the window, in s; `steady`: until throughput has settled; gives up after ten times the minimum warm-up (default steady; with --faults and for TCP flows, the time to drain three full queues, at least 2 s)"""
    arrivals: str | None
    """arrival process of each host's packets: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random failures drawn from --seed by mean times, mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, each with its own seed; results are means with 95 % intervals (default 1)"""
    flow_sizes: str | PathLike[str] | None
    """distribution of TCP flow sizes: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """CSV file of TCP flows to replay: time_s,source,destination,bytes (default none)"""
    flow_size_limit: int | str | None
    """size limit, in bytes; larger flows are truncated to it (default none)"""
    tcp: str | None
    """congestion control of the flows, an algorithm of this kernel (default the kernel's)"""
    drain: float | str | None
    """time after the last flow start in which flows can complete, in s (default 10)"""
    ranks: int | None
    """number of ranks (default all hosts; for motifs, the largest grid with equal sides)"""
    placement: str | None
    """assignment of ranks to hosts (random:SEED sets its own seed): linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, such as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 5)"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are processed in parallel (default 2)"""
    exec: str | Sequence[str] | None
    """host and command, such as "h1_1 iperf3 -c h5_1"; several start together. A line that ends with & is a server: it starts first and is terminated when the traffic ends (default none)"""
    exec_file: str | PathLike[str] | None
    """file of programs, one per line; lines that start with # are comments (default none)"""
    exec_timeout: float | str | None
    """timeout of programs, counted from the start of traffic, in s; after it, other programs and all measurements continue (default 300)"""
    pcap: str | Sequence[str] | None
    """capture packets at hosts (h1_1), switch ports (s5-eth3 or s5:3) or both ends of links (link:s1-s7), separated by commas (default none)"""
    out: str | PathLike[str] | None
    """output directory (default a new one in results/)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""

class UpKeywords(FamilyKeywords, total=False):
    """Keywords of `Fabric`."""

    hosts: int | None
    """hosts attached to each router (default 1)"""
    link_rate: str | None
    """rate of every port, for example 500kbit; auto: the highest that this machine sustains (default 2Mbit)"""
    queue: int | None
    """capacity of each port's queue, in packets (default 32)"""
    mtu: int | str | None
    """maximum transmission unit of each port, in bytes (default 1500)"""
    link_delay: float | str | None
    """one-way delay of each link between routers, in ms (default 0)"""
    link_loss: float | None
    """packet loss probability of each link between routers, such as 0.01 (default 0)"""
    routing: str | None
    """routing algorithm (default min)"""
    local_repair: bool | None
    """fast reroute in switches; without it, only the controller repairs paths (default on)"""
    ordered_repair: bool | None
    """fast reroute only over alternates that keep the channel order acyclic"""
    datapath: str | None
    """Open vSwitch datapath: auto, kernel, user (default auto)"""
    framework: str | None
    """controller framework: auto, os-ken, ryu (default auto: os-ken)"""
    host_root: str | None
    """root user of hosts; own: not this machine's root; real: root of this machine (default own)"""
    occupancy: str | None
    """source of port occupancies for adaptive routings: netlink, port-statistics (default netlink)"""
    pcap: str | Sequence[str] | None
    """capture packets at hosts (h1_1), switch ports (s5-eth3 or s5:3) or both ends of links (link:s1-s7), separated by commas (default none)"""
    out: str | PathLike[str] | None
    """output directory of the session: link loads and drops over time, faults, and the lines that ran (default no files)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""

class TrafficKeywords(TypedDict, total=False):
    """Keywords of `Fabric.traffic`."""

    pattern: str | None
    """traffic pattern; `polarlab patterns` lists all (default uniform)"""
    load: float | None
    """offered load as a fraction of injection capacity, up to 1 (default 0.3)"""
    seed: int | None
    """seed of the random generator (default 1)"""
    frame_bytes: int | str | None
    """frame length without FCS, in bytes (default 1000; for collectives, set by the MTU)"""
    flows: int | None
    """source ports (flows) per host pair (default 64)"""
    duration: float | str | None
    """length of the measurement window, in s (default 10)"""
    warmup: float | str | None
    """time before the window, in s; `steady`: until throughput has settled; gives up after ten times the minimum warm-up (default steady; with --faults and for TCP flows, the time to drain three full queues, at least 2 s)"""
    arrivals: str | None
    """arrival process of each host's packets: poisson, bernoulli, constant (default poisson)"""
    faults: str | PathLike[str] | None
    """schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore link:s1-s7`; or random failures drawn from --seed by mean times, mtbf:links=30s,mttr=10s (default none)"""
    repeat: int | None
    """number of replications, each with its own seed; results are means with 95 % intervals (default 1)"""
    flow_sizes: str | PathLike[str] | None
    """distribution of TCP flow sizes: web-search, data-mining, fixed:BYTES or a CSV file (default no flows)"""
    flow_file: str | PathLike[str] | None
    """CSV file of TCP flows to replay: time_s,source,destination,bytes (default none)"""
    flow_size_limit: int | str | None
    """size limit, in bytes; larger flows are truncated to it (default none)"""
    tcp: str | None
    """congestion control of the flows, an algorithm of this kernel (default the kernel's)"""
    drain: float | str | None
    """time after the last flow start in which flows can complete, in s (default 10)"""
    ranks: int | None
    """number of ranks (default all hosts; for motifs, the largest grid with equal sides)"""
    placement: str | None
    """assignment of ranks to hosts (random:SEED sets its own seed): linear, random, cluster (default linear)"""
    message_bytes: str | float | Sequence[str | float] | None
    """message sizes, such as 64KiB,1MiB, in bytes (default 64KiB,256KiB,1MiB)"""
    iterations: int | None
    """measured iterations of each size (default 5)"""
    warmup_iterations: int | None
    """iterations of each size before the measured ones (default 1)"""
    slices: int | None
    """slices of an allreduce's vector that are processed in parallel (default 2)"""
    exec: str | Sequence[str] | None
    """host and command, such as "h1_1 iperf3 -c h5_1"; several start together. A line that ends with & is a server: it starts first and is terminated when the traffic ends (default none)"""
    exec_file: str | PathLike[str] | None
    """file of programs, one per line; lines that start with # are comments (default none)"""
    exec_timeout: float | str | None
    """timeout of programs, counted from the start of traffic, in s; after it, other programs and all measurements continue (default 300)"""
    pcap: str | Sequence[str] | None
    """capture packets at hosts (h1_1), switch ports (s5-eth3 or s5:3) or both ends of links (link:s1-s7), separated by commas (default none)"""
    out: str | PathLike[str] | None
    """output directory (default a new one in results/)"""
    run_programs: bool | None
    """use programs, input files, output directories and plug-ins that another user's files or results name, without asking first"""
