"""Options of experiments and of commands: each is declared here, once.

Command lines, their help and completion, experiment files and their schema, Python's keywords, checks,
manifests and comparisons follow from these declarations. An option's place is its table, a group of options
in experiment files and in the help; a family's parameters are options of the table `topology`. Options
without a table are those of commands alone, as `--json`, which experiments do not keep.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.papers.options import LIST
from experiments.spec.option import Given, Option, at
from topology.addressing import MAX_HOSTS
from topology.drawn_faults import FORM
from topology.families.nearest import ENDPOINTS, RADIX
from topology.faults import CYCLES
from topology.links import DEFAULT_MTU, MAX_DELAY_MS, MAX_LOSS, MAX_MTU, MAX_QUEUE_PACKETS, MIN_MTU
from traffic.wire.layout import ETHERNET_BYTES, MAX_FLOWS
from traffic.workload.flows.sizes import MAX_FLOW_BYTES

if TYPE_CHECKING:
    from experiments.spec.experiment import Experiment

RUN, SWEEP, FAILOVER, UP = "run", "sweep", "failover", "up"
SIMULATE, SATURATION = "simulate", "saturation"
# Engines of a sweep, by the option of that name; one of the simulator has options of its own.
ENGINE, EMULATION, SIMULATION = "engine", "emulation", "simulation"
ENGINES = (EMULATION, SIMULATION)
SIMULATED_SWEEP = f"{SWEEP} --{ENGINE} {SIMULATION}"
# Commands that are experiments, which files hold; those with a fabric of switches; those with simulated
# routers; and all with a topology.
KINDS = (RUN, SWEEP, FAILOVER, SIMULATE)
_FABRIC = frozenset((RUN, SWEEP, FAILOVER, UP))
SIMULATED = (SIMULATE, SATURATION, SIMULATED_SWEEP)
_GRAPH = _FABRIC | {*SIMULATED, "topology", "verify", "predict", "rules", "explain"}
_SWEEPS = (SWEEP, SIMULATED_SWEEP)  # with lists of routings, patterns and loads
# Commands without a topology, all commands, those with JSON output, with a live page, and with figures that
# have a look of their own.
_LISTS, _RESULTS = ("families", "patterns", "routings"), ("plot", "report", "compare", "crosscheck")
_EVERY = (*_GRAPH, *_LISTS, *_RESULTS, "watch", "paper", "schema", "doctor", "clean")
_WITH_JSON = frozenset(_EVERY) - {UP, "watch", "schema"}
_WATCHED = (UP, RUN, SWEEP, FAILOVER, "watch")
_DRAWN = ("plot", "report", "compare")
_RESULT_FOLDER = "directory of a run, a simulation, a sweep or a failover"

AUTO_RATE, GIVEN_RATE, RULE_RATE, STEADY = "auto", "given", "rule", "steady"
DEFAULT_PATTERN, DEFAULT_LOAD, DEFAULT_FLOWS = "uniform", 0.3, 64
MAX_REPEAT, MAX_SEED, MAX_WORKERS = 1000, 2**63 - 1, 1024
MAX_CYCLES, MAX_BUFFER_FLITS, MAX_LINK_CYCLES = 10**9, 65_536, 10_000
TOPOLOGY = "topology"


class Kind(NamedTuple):
    """A kind of a run's traffic: its title, the options that ask for it, and a remedy for foreign options."""

    title: str
    asked: str
    remedy: str = "leave it out"


PACKETS, COLLECTIVE, TRACE = "packets", "collective", "trace"
FLOWS, REPLAY, PROGRAMS = "flows", "replay", "programs"
TRAFFIC_KINDS: Mapping[str, Kind] = {
    PACKETS: Kind("packets", "--pattern and --load"),
    COLLECTIVE: Kind("collectives", "--pattern allreduce, all-to-all or a motif", "they have --iterations"),
    FLOWS: Kind("TCP flows", "--flow-sizes or --flow-file"),
    REPLAY: Kind("a file of flows, which has all hosts and times", "--flow-file"),
    PROGRAMS: Kind("programs alone", "--exec", "give --pattern or --load as well"),
    TRACE: Kind("a trace, which has all hosts and times", "--trace"),
}


class Table(NamedTuple):
    """A table of experiment files: the title of its options in the help, and a sentence on them."""

    title: str
    text: str = ""


TABLES: Mapping[str, Table] = {
    TOPOLOGY: Table("topology"),
    "fabric": Table("fabric"),
    "traffic": Table("traffic"),
    "flows": Table(
        "TCP flows", "In place of packets, with --flow-sizes or --flow-file (docs/how-to/flows.md)."
    ),
    "collective": Table("collectives", "With --pattern allreduce[:ALGORITHM] or all-to-all, or motifs."),
    "programs": Table(
        "own programs",
        "With --pattern or --load they run beside generated traffic. Without both, nothing is generated, and "
        "the measurement ends when they have ended.",
    ),
    "simulation": Table("simulated routers", "Cycles, buffers and choices (docs/how-to/simulation.md)."),
    "sweep": Table("sweep"),
    "failover": Table("failover"),
    "output": Table("output"),
}


def default_frame_bytes(mtu: int) -> int:
    """Returns the length of frames where none is given, in bytes without FCS, on links of an MTU."""
    return min(1000, mtu + ETHERNET_BYTES)


def _frame_bytes(experiment: Experiment, values: Mapping[str, Given]) -> Given:
    mtu = int(str(values["mtu"]))
    return default_frame_bytes(mtu) if experiment.traffic_kind == PACKETS else mtu + ETHERNET_BYTES


_CREDIT, _DROP = ("flow-control", "credit"), ("flow-control", "drop")
_NAMED = "experiments.spec.files.named"
_LISTED = at("experiments.spec.variations:listed_values")  # of the option of a run that a list is for
_VARIED = at(f"{_NAMED}:files_of_variation")
Options = tuple[Option, ...]


def _whole(name: str, text: str, default: int | None, least: int, most: float, **more: Any) -> Option:
    return Option(name=name, type=int, help=text, default=default, least=least, most=most, **more)


def _number(name: str, text: str, default: float | None, least: float, most: float, **more: Any) -> Option:
    return Option(name=name, type=float, help=text, default=default, least=least, most=most, **more)


def _text(name: str, text: str, default: str | None = None, **more: Any) -> Option:
    return Option(name=name, type=str, help=text, default=default, **more)


def _switch(name: str, text: str, default: bool, **more: Any) -> Option:
    return Option(name=name, type=bool, help=text, default=default, **more)


def _own(name: str, commands: Collection[str], text: str, **more: Any) -> Option:
    """Returns an option that experiments do not keep."""
    if more.get("type") is bool:
        more["default"] = False
    return Option(**{"name": name, "type": str, "help": text, "commands": commands, "common": True, **more})


def _place(name: str, commands: Collection[str], text: str, **more: Any) -> Option:
    """Returns an option that experiments do not keep, and that is given by its place."""
    return _own(name, commands, text, positional=True, required=True, **more)


def _table(table: str, commands: Collection[str], kinds: Collection[str], *declared: Option) -> Options:
    """Returns options of a table; commands and kinds are those of options that have none of their own."""
    return tuple(
        replace(option, table=table, commands=option.commands or commands, kinds=option.kinds or kinds)
        for option in declared
    )


def _of_routers(*declared: Option) -> Options:
    """Returns options whose settings are those of simulated routers in results."""
    return tuple(replace(one, setting=one.setting or f"routers.{one.key}") for one in declared)


_cycles = partial(_whole, least=1, most=MAX_LINK_CYCLES, unit="cycles")

# fmt: off
_rate = partial(_text, "link-rate", words=(AUTO_RATE,), metavar="RATE", setting="link_rate_bps",
                text="rate of every port, as 500kbit; auto: the highest that the machine carries",
                parse=at("topology.links:parse_rate_bps"), common=True)
OPTIONS: tuple[Option, ...] = (
    *_table(TOPOLOGY, _GRAPH, (),
        _text(TOPOLOGY, "family of the topology, or the file of an experiment (.toml)", setting="name",
              choices=at("topology.registry:FAMILIES"), default_in={FAILOVER: "polarfly"}, metavar="NAME",
              positional=True, common=True),
    ),
    *_table("fabric", _FABRIC, (),
        _whole("hosts", "hosts attached to each router", 1, 1, MAX_HOSTS, metavar="P", common=True,
               commands=_GRAPH - {"explain"}, varies=False),
        _rate(default="2Mbit", default_in={FAILOVER: "20Mbit"}, commands=(UP, FAILOVER)),
        _rate(derived=at("experiments.doctor.default_rate:default_link_rate"), commands=(RUN, SWEEP),
              default_text="2Mbit, or less where generated traffic is too much for the machine"),
        _whole("queue", "capacity of every port's queue", 32, 1, MAX_QUEUE_PACKETS, unit="packets",
               setting="queue_packets"),
        _whole("mtu", "maximum transmission unit of every port", DEFAULT_MTU, MIN_MTU, MAX_MTU, unit="bytes",
               varies=False),
        # Delay and loss of links would pass for those of a failover.
        _number("link-delay", "one-way delay of every link between routers", 0.0, 0, MAX_DELAY_MS, unit="ms",
                commands=_FABRIC - {FAILOVER}, setting="link_delay_ms"),
        _number("link-loss", "packet loss probability of every link between routers, as 0.01", 0.0, 0,
                MAX_LOSS, commands=_FABRIC - {FAILOVER}),
        _text("routing", "routing algorithm", "min", known=at("routing.registry:ROUTINGS"), common=True,
              canonical=at("experiments.spec.fabric:routing_name"), commands=_GRAPH - {"topology", *_SWEEPS}),
        _switch("local-repair", "fast reroute in switches; without it, only the controller repairs", True,
                default_text="with", commands=_FABRIC | {"verify", "rules"}),
        _switch("ordered-repair", "fast reroute only by alternates that keep to an order of channels", False,
                excludes=("local-repair",), commands=_FABRIC | {*SIMULATED, "verify", "rules"}),
        _text("datapath", "Open vSwitch datapath", "auto", choices=at("emulation.requirements:DATAPATHS"),
              setting="datapath_asked", varies=False),
        _text("framework", "controller framework", "auto", default_text="auto: ryu where it is installed",
              choices=at("controller.openflow.frameworks:CHOICES"), setting="framework_asked", varies=False),
        _text("host-root", "root of hosts: own, not the machine's; real: programs on hosts are root here",
              "own", choices=at("emulation.hosts.identity:HOST_ROOTS"), varies=False),
        _text("occupancy", "source of port occupancies for adaptive routings", "netlink", metavar="SOURCE",
              choices=at("controller.occupancy.source:SOURCES"), setting="occupancy_asked"),
    ),
    *_table("traffic", (RUN, SWEEP), (),
        _text("pattern", "traffic pattern, one of `polarlab patterns`", DEFAULT_PATTERN, common=True,
              known=at("experiments.spec.traffic:pattern_names"), path=at(f"{_NAMED}:pattern_file"),
              canonical=at("experiments.spec.traffic:canonical_pattern"),
              commands=(RUN, "predict", SIMULATE, SATURATION), kinds=(PACKETS, COLLECTIVE, FLOWS)),
        Option(name="load", type=float, help="offered load, over 0 and at most 1 of the hosts' capacity",
               default=DEFAULT_LOAD, above=0, most=1, commands=(RUN, "predict", SIMULATE), common=True,
               kinds=(PACKETS, FLOWS)),
        _whole("seed", "seed of the random generator", 1, 0, MAX_SEED, common=True,
               commands=(*KINDS, "predict", SATURATION, SIMULATED_SWEEP)),
        _whole("frame-bytes", "length of every frame, without FCS", None, 1, math.inf, unit="bytes",
               derived=_frame_bytes, default_text="1000; of collectives, the MTU's",
               kinds=(PACKETS, COLLECTIVE)),
        _whole("flows", "source ports per host pair", DEFAULT_FLOWS, 1, MAX_FLOWS,
               kinds=(PACKETS, COLLECTIVE)),
        _number("duration", "measured time", 10.0, 0.1, 86_400, unit="s", kinds=(PACKETS, FLOWS), common=True,
                setting="duration_s"),
        _number("warmup", f"time before the measurement; `{STEADY}`: until throughput has settled, or had "
                "ten times as long to do so as it takes at least", None, 0, 3600, unit="s",
                words=(STEADY,), kinds=(PACKETS, FLOWS), setting="warmup_s",
                derived=at("experiments.spec.warmup:default_warmup"),
                default_text=f"{STEADY}; with --faults and for TCP flows the time in which three full queues "
                "drain, 2 s at least"),
        _text("arrivals", "distribution of a host's packets over time", "poisson", kinds=(PACKETS,),
              commands=(RUN, SWEEP, *SIMULATED), choices=at("traffic.workload.arrivals:ARRIVALS"),
              default_in=dict.fromkeys(SIMULATED, "bernoulli")),
        _whole("cycles", "length of the measured window; a link passes a flit a cycle", 3000, 1, MAX_CYCLES,
               unit="cycles", commands=SIMULATED, kinds=(PACKETS,), setting="window_cycles", common=True),
        _whole("warmup", f"time before the window; `{STEADY}`: until latency and throughput have settled",
               None, 0, MAX_CYCLES, unit="cycles", words=(STEADY,), commands=SIMULATED, kinds=(PACKETS,),
               default_in=dict.fromkeys(SIMULATED, STEADY), setting="warmup_cycles",
               derived=at("experiments.spec.warmup:simulated_warmup"),
               default_text=f"{STEADY}; 1000 where there are faults"),
        _text("faults", "schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore "
              f"link:s1-s7`; or random ones by their mean times, drawn from --seed, as {FORM}", file=True,
              path=at(f"{_NAMED}:schedule_file"), common=True),
        _text("faults", "schedule of failures and restorations: lines like `2500 fail link:s1-s7`, `4000 "
              "restore link:s1-s7`, times in cycles; or random ones by their mean times, drawn from --seed, "
              f"as {CYCLES.form}", file=True, path=at(f"{_NAMED}:schedule_file"), kinds=(PACKETS,),
              commands=(SIMULATE, SIMULATED_SWEEP), common=True),
        _whole("replan-cycles", "time from a fault until switches have the controller's plan for it; "
               "`none`: never", None, 0, MAX_CYCLES, unit="cycles", words=("none",), needs=("faults",),
               derived=at("experiments.spec.simulation.model:default_replan_cycles"), default_text="1000",
               commands=(SIMULATE, SIMULATED_SWEEP)),
        _whole("repeat", "number of replications, a seed each; results are means with 95 % intervals", 1, 1,
               MAX_REPEAT, kinds=(PACKETS, FLOWS, REPLAY, PROGRAMS), varies=False, excludes=("faults",),
               commands=(RUN, SIMULATE, *_SWEEPS), common=True),
    ),
    *_table("flows", (RUN,), (FLOWS, REPLAY),
        _text("flow-sizes", "distribution of the sizes of TCP flows: web-search, data-mining, fixed:BYTES or "
              "a CSV file", default_text="no flows", known=at("traffic.workload.flows.sizes:PUBLISHED"),
              file=True, path=at(f"{_NAMED}:sizes_file"), metavar="SIZES", excludes=("flow-file",)),
        _text("flow-file", "TCP flows to replay, a CSV file: time_s,source,destination,bytes", file=True),
        _whole("flow-size-limit", "size to which larger flows are cut", None, 1, MAX_FLOW_BYTES,
               unit="bytes"),
        _text("tcp", "congestion control of the flows, of those that the kernel has", metavar="NAME",
              derived=at("experiments.spec.flows:default_tcp"), default_text="the kernel's"),
        _number("drain", "time after the last flow's start in which flows may be completed", 10.0, 0, 3600,
                unit="s", setting="drain_s"),
    ),
    *_table("collective", (RUN, SIMULATE), (COLLECTIVE,),
        _whole("ranks", "number of ranks", None, 0, math.inf,
               derived=at("experiments.spec.collective:all_ranks"),
               default_text="all hosts; of motifs, a grid of equal sizes"),
        _text("placement", "assignment of ranks to hosts; random:SEED has a seed of its own", "linear",
              known=at("traffic.workload.placement:PLACEMENTS")),
        _text("message-bytes", "message sizes, as 64KiB,1MiB", unit="bytes", listed=True,
              derived=at("experiments.spec.collective:default_sizes"), default_text="64KiB,256KiB,1MiB",
              parse=at("experiments.spec.collective:parse_sizes")),
        _whole("iterations", "measured iterations of each size", 5, 1, 100_000, default_in={SIMULATE: 1}),
        _whole("warmup-iterations", "iterations of each size before the measured ones", 1, 0, 1000,
               commands=(RUN,)),
        _whole("slices", "slices of an allreduce's vector that are worked on side by side", None, 1, 64,
               derived=at("experiments.spec.collective:default_slices"), default_text="2"),
        _whole("compute-cycles", "time that a rank computes: in a motif before each exchange or block, in an "
               "allreduce to add what it has received", 0, 0, MAX_CYCLES, unit="cycles",
               commands=(SIMULATE,)),
        _whole("flit-bytes", "size of a flit of messages", 32, 1, 65_536, unit="bytes", commands=(SIMULATE,),
               kinds=(COLLECTIVE, TRACE)),
        _text("trace", "messages to send at their times, a CSV file: time_cycles,source,destination,bytes",
              file=True, commands=(SIMULATE,), kinds=(TRACE,)),
    ),
    *_table("programs", (RUN,), (),
        _text("exec", 'program, as "h1_1 iperf3 -c h5_1"; several start together. One that ends with & is a '
              "server: it starts first, is not waited for, and is ended at the end", repeatable=True,
              metavar="LINE", setting="programs", common=True),
        _text("exec-file", "file of programs, a line each; lines that begin with # are comments", file=True),
        _number("exec-timeout", "longest time of a program since the traffic began; then it is ended, and "
                "the rest kept", None, 0.1, 86_400, unit="s", default_text="300",
                derived=at("experiments.spec.programs:default_timeout_s"), setting="exec_timeout_s",
                needs=("exec", "exec-file")),
    ),
    *_table("simulation", SIMULATED, (), *_of_routers(
        _text("flow-control", "flow control; credit: input queues with virtual channels, which lose nothing, "
              "as the papers' routers; drop: output queues that drop what does not fit, as switches",
              "credit", choices=at("experiments.spec.fabric:FLOW_CONTROLS"), metavar="KIND",
              varies=False, common=True),
        _whole("packet-flits", "length of a packet", 4, 1, 64, unit="flits"),
        _whole("virtual-channels", "virtual channels of a port", 4, 1, 16, when=_CREDIT, common=True),
        _whole("buffer-flits", "capacity of a virtual channel's buffer", 32, 1, MAX_BUFFER_FLITS,
               unit="flits", when=_CREDIT),
        _whole("speedup", "flits that a router passes from an input to an output in a cycle", 2, 1, 4,
               when=_CREDIT),
        _text("channel-policy", "virtual channel of a packet's next hop; hop: the number of its hops so far; "
              "class: one half of the channels to its intermediate router, the other from there on; any: the "
              "one with most room; random: a random one", "hop", metavar="POLICY", when=_CREDIT,
              choices=at("experiments.spec.fabric:CHANNEL_POLICIES")),
        _text("arbitration", "order in which inputs and channels are served", "round-robin", metavar="ORDER",
              choices=at("experiments.spec.fabric:ARBITRATIONS"), when=_CREDIT),
        _cycles("router-cycles", "time of a packet's head in a router where nothing is in its way", 2),
        _cycles("link-cycles", "time of a flit on a link between routers", 1),
        _cycles("global-link-cycles", "time of a flit on a link between clusters of routers (supernodes, "
                "groups)", None, default_text="that of --link-cycles"),
        _cycles("host-link-cycles", "time of a flit on a link between a router and a host", 1),
        _cycles("credit-cycles", "time of a credit on its way back", 2, when=_CREDIT),
        _whole("queue", "capacity of an output queue, with --flow-control drop", 32, 1, MAX_QUEUE_PACKETS,
               unit="packets", when=_DROP, setting="routers.queue_packets"),
        _number("burst", "packets that an idle link lets go at once, with --flow-control drop", 2.0, 1, 1000,
                unit="packets", when=_DROP, setting="routers.burst_packets"),
        _text("decision", "law by which a source decides between minimal path and detours: for every packet, "
              "as threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, "
              "by the routing's control law, as buckets:period=50 (cycles)",
              default_text="that of the routing", known=at("experiments.spec.simulation.decisions:DECISIONS"),
              canonical=at("experiments.spec.simulation.decisions:decision_name"), metavar="LAW"),
        _number("precision", "distance between neighbouring loads", 0.01, 0.001, 0.5, commands=(SATURATION,),
                common=True),
    )),
    *_table("sweep", _SWEEPS, (),
        _text(ENGINE, "engine of all points; emulation: switches and real packets; simulation: simulated "
              "routers, without root", EMULATION, choices=lambda: ENGINES,
              default_in={SIMULATED_SWEEP: SIMULATION}, metavar="ENGINE", common=True),
        _text("routings", "routing algorithms", "min,ugal-pf", known=at("routing.registry:ROUTINGS"),
              parse=partial(_LISTED, "routing"), listed=True, common=True),
        _text("patterns", "traffic patterns, of `polarlab patterns`", "uniform,tornado", listed=True,
              common=True,
              known=at("traffic.workload.patterns:PATTERNS"),
              parse=partial(_LISTED, "pattern"), paths=at(f"{_NAMED}:files_of_patterns")),
        _text("loads", "offered loads, as 0.1,0.5 or FIRST:LAST:STEP", "0.1:0.9:0.2", listed=True,
              parse=partial(_LISTED, "load"), common=True),
        _text("vary", "further values to go over, as queue=8,32 or ugal-pf.threshold=0.3:0.9:0.1; several "
              "times for several keys. KEY is an option of traffic or links, ROUTING.PARAMETER or "
              "PATTERN.PARAMETER, VALUES are a list or FIRST:LAST:STEP. Topology, hosts, mtu and datapath "
              "need a fabric of their own for each value: run a sweep for each",
              repeatable=True, keyed=True, metavar="KEY=VALUES", commands=(SWEEP,),
              known=at("experiments.spec.variations:known_keys"), paths=_VARIED,
              parse=at("experiments.spec.variations:check_variation"), common=True),
        _text("vary", "further values to go over, as cycles=3000,10000 or virtual-channels=4,8; several "
              "times for several keys. KEY is an option of traffic, or of simulated routers but for "
              "flow-control, ROUTING.PARAMETER or PATTERN.PARAMETER, VALUES are a list or FIRST:LAST:STEP",
              repeatable=True, keyed=True, metavar="KEY=VALUES", commands=(SIMULATED_SWEEP,),
              known=at("experiments.spec.variations:known_simulated_keys"), paths=_VARIED,
              parse=at("experiments.spec.variations:check_simulated_variation"), common=True),
    ),
    *_table("failover", (FAILOVER,), (),
        _text("fail", "failing elements, with commas: link:s1-s7, switch:s4, hang:s4 (its program dies, its "
              "links stay up), random:3 (links), random-link, random-switch", listed=True, metavar="ELEMENTS",
              default_text="the link that most minimal paths cross", common=True),
        _switch("kill-controller", "controller killed before the failure, and started again before the "
                "restoration", False, common=True),
        _whole("repeat", "number of failovers on the same fabric, a seed each, and their distribution", 1, 1,
               MAX_REPEAT, common=True),
    ),
    *_table("output", _FABRIC, (),
        _text("pcap", "places to capture packets at: hosts as h1_1, ports of switches as s5-eth3 or s5:3, "
              "both ends of links as link:s1-s7", repeatable=True, metavar="LIST", commands=(RUN, UP)),
        _text("out", "output directory", default_text="a new one in results/", file=True, metavar="DIR",
              commands=(RUN, FAILOVER, SIMULATE), common=True),
        _text("out", "output directory; a sweep in it goes on", file=True, metavar="DIR", commands=(SWEEP,),
              default_text="in results/, by name, hosts and link rate", common=True),
        _text("out", "output directory; a sweep in it goes on", file=True, metavar="DIR",
              commands=(SIMULATED_SWEEP,), default_text="in results/, by name and hosts", common=True),
        _text("out", "output directory of the session: loads and drops of links over time, faults, and the "
              "lines that ran", default_text="nothing is written", file=True, metavar="DIR", commands=(UP,),
              common=True),
    ),
    # Options of commands, which experiments do not keep.
    _place("demonstration", (FAILOVER,), "the demonstration", choices=lambda: (FAILOVER,), metavar=FAILOVER),
    _place("results", ("watch",), "directory of a run or a failover", file=True, metavar="RESULTS"),
    _place("results", ("plot", "report"), _RESULT_FOLDER, file=True,
           metavar="RESULTS"),
    _place("results", ("crosscheck",), "directory of a run or a sweep; or what `polarlab run` takes, "
           "with its options, which is measured first (root)", file=True, metavar="RESULTS"),
    _place("runs", ("compare",), _RESULT_FOLDER, file=True, repeatable=True,
           metavar="RUN"),
    _place("switch", ("rules",), "switch, as s3", metavar="switch"),
    _place("switch", ("explain",), "source switch, as s3", metavar="switch"),
    _place("other", ("explain",), "destination switch, as s17", metavar="other"),
    _own("failures", ("verify",), "failures, one at a time", default="none",
         choices=at("topology.failures:SCENARIOS")),
    _own("deadlock", ("verify",), "proof as well that packets never wait for one another in a circle on a "
         "lossless network", type=bool),
    _own("virtual-channels", ("verify",), "virtual channels of --deadlock: one, or hop:N, of which a packet "
         "takes that of its hop", default_text="one", metavar="one|hop:N", common=False),
    _own("count-layers", ("verify",), "number of layers without circles into which --deadlock divides the "
         "paths, where every pair has one", type=bool, common=False),
    _own("certificate", ("verify",), "new file of the order of channels by which --deadlock proves that "
         "there is no circle, .csv", file=True),
    _own("figure", ("verify",), "new figure of the circle that --deadlock finds, .png, .svg or .pdf",
         file=True),
    _own("without", ("rules",), "failed links and switches, as link:s1-s7,switch:s4", metavar="ELEMENTS"),
    _own("list", ("topology",), "list of families, with parameters and example", type=bool),
    _own("designs", ("topology",), "list of all polarstars of a --radix, by size", type=bool),
    _own("classes", ("topology",), "classes of routers under the automorphisms of the graph", type=bool),
    _own("racks", ("topology",), "racks, and the links between each two of them", type=bool),
    _own("radix", ("families",), f"{RADIX.help}; alone, of the nearest radix the member with the most hosts",
         type=int, least=RADIX.least, most=RADIX.most, default_text="any"),
    _own("endpoints", ("families",), f"{ENDPOINTS.help}; alone, of members that differ by a tenth at most "
         "the one with the smallest radix, else the nearest; with --radix, that with the least sum of "
         "relative differences",
         type=int, least=ENDPOINTS.least, most=ENDPOINTS.most, default_text="any"),
    _own("group", ("families",), "group of families", choices=at("topology.families.family:SERIES"),
         default_text="all"),
    _own("costs", ("families",), "bisections, cables between racks and costs, which take longer", type=bool),
    _own("prices", ("families", "paper"), "file of the prices of routers and cables, .toml",
         default_text="those of the Slim Fly paper", file=True),
    _own("export", ("topology",), "new file of the graph", metavar="FORMAT FILE", file=True,
         known=at("experiments.theory.export:FORMATS")),
    _own("figure", ("topology",), "new figure of the graph, .png, .svg or .pdf", file=True),
    _own("figure", ("compare",), "new figure of all, .png, .svg or .pdf", file=True),
    _own("format", ("plot",), "formats of the files: png, svg, pdf", listed=True, default_text="png,svg"),
    _own("width", _DRAWN, "width of figures, as 3.3in or 84mm, to which texts and panels are fitted",
         default_text="that of each kind"),
    _own("no-title", _DRAWN, "figures without titles", type=bool),
    _own("order", _DRAWN, "panels and curves of figures that come first, by their names, as uniform,ugal-pf",
         listed=True, default_text="by name"),
    _own("x", _DRAWN, "key of --vary on the horizontal axis of sweeps, or `load`", metavar="KEY",
         default_text="load if it varies, else the first key with numbers"),
    _own("booksim", _DRAWN, "points of the PolarFly authors' simulator in figures of sweeps; it was run for "
         "ER_5 with 3 hosts a router", type=bool, common=False),
    _own("exec", (UP,), "line for the prompt, several in their order until one fails (exit status 1), unless "
         "it ends in `|| true`", default_text="an open prompt, or the lines of standard input", metavar="CMD",
         repeatable=True),
    _own("web", _WATCHED, "live page in the browser, on 127.0.0.1:8642 or another address, as --web=8080",
         default_text="no page", metavar="[HOST:]PORT"),
    _own("web-certificate", _WATCHED, "TLS certificate of the live page, in PEM", file=True,
         default_text="plain HTTP", common=False),
    _own("web-key", _WATCHED, "key of the TLS certificate, in PEM", file=True, default_text="plain HTTP",
         common=False),
    _own("web-open", _WATCHED, "live page without a token, for all users of this machine", type=bool,
         common=False),
    _own("out", ("report",), "new file of the page", default_text="report.html in RESULTS", file=True),
    _own("again", KINDS, "results that are measured again, as their manifest says; other options change it",
         file=True, metavar="DIR"),
    _own("plugin", _EVERY, "file with topologies, routings, patterns, collectives or motifs of your own",
         file=True, repeatable=True, metavar="FILE.py", common=False),
    _own("run-programs", _EVERY, "programs, input files and an output directory that a file or results of "
         "another user name, and another user's plug-ins, are used without a question", type=bool,
         common=False),
    _own("print-config", KINDS, "experiment as a file, on standard output; nothing is run", type=bool,
         common=False),
    _own("estimate", (SWEEP, SIMULATE, SATURATION, "paper"), "points, time and memory that it would take, "
         "about; nothing is run or written", type=bool),
    _own("strict", (RUN, SWEEP), "exit status 1 if a result is not valid", type=bool, common=False),
    _own("workers", (SWEEP, "paper"), "processes of this machine that simulate points", type=int, least=1,
         most=MAX_WORKERS, default_text="one on each core"),
    _own("scheduler", (SWEEP, "paper"), "scheduler of a dask.distributed cluster that simulates points, as "
         "tcp://HOST:PORT", default_text="this machine", metavar="ADDRESS", common=False),
    _own("cluster-tls", (SWEEP, "paper"), "folder with ca.pem, certificate.pem and key.pem, for --scheduler "
         "tls://HOST:PORT", default_text="dask's configuration", file=True, metavar="DIR", common=False),
    _own("insecure-cluster", (SWEEP, "paper"), "trust a scheduler on another machine without TLS, and any as "
         "root: a cluster can run code here", type=bool, common=False),
    _place("paper", ("paper",), "name of a paper, or `list` for all their figures and tables",
           known=at("experiments.papers.claims:PAPERS"), words=(LIST,), metavar="PAPER"),
    _own("item", ("paper",), "figure or table, as fig12, or `all`", positional=True, metavar="ITEM"),
    _own("quick", ("paper",), "fewer sizes and runs, and smaller networks in simulations", type=bool),
    _own("seeds", ("paper",), "number of random orders of failures, searches for a bisection, or simulations "
         "of a point", type=int, least=1, most=10_000, default_text="that of the item"),
    _own("curves", ("paper",), "curves to simulate, by the labels in the figure, as PF-MIN, or under one "
         "pattern, as PF-MIN:tornado, or `none`: of the others "
         "the output directory's points are taken", default_text="all", metavar="LABEL,..."),
    _own("out", ("paper",), "output directory; items that are complete there are not computed again",
         default_text="in results/papers, by paper and options", file=True, metavar="DIR"),
    _own("json", _WITH_JSON, "one JSON object on standard output", type=bool),
)
# fmt: on


def declared_kind(kind: str, values: Mapping[str, Any]) -> str:
    """Returns the name by which declarations know a kind of experiments with some values.

    Args:
        kind: kind of the experiment, or name of a command.
        values: option -> value; a sweep has other options by its engine.
    """
    return SIMULATED_SWEEP if kind == SWEEP and values.get(ENGINE) == SIMULATION else kind


def option_of(name: str, command: str) -> Option:
    """Returns the declaration of a command's option."""
    return next(option for option in OPTIONS if option.name == name and command in option.commands)


@cache
def option_names() -> frozenset[str]:
    """Returns the names of all options of experiments, which parameters of families do not have there."""
    return frozenset(option.name for option in OPTIONS if option.table)


def family_options(family: str) -> tuple[Option, ...]:
    """Returns the parameters of a family as options; one named as another option is `--topology-NAME`."""
    from topology.registry import FAMILIES

    declared = []
    for parameter in FAMILIES[family].parameters:
        given = {entry.name: getattr(parameter, entry.name) for entry in fields(parameter)}
        if parameter.name in option_names():
            given["name"] = f"{TOPOLOGY}-{parameter.name}"
        declared.append(Option(**given, table=TOPOLOGY, commands=_GRAPH, setting=parameter.key))
    return tuple(declared)


def options_of(command: str, family: str | None = None) -> tuple[Option, ...]:
    """Returns the options of a command that experiments keep, those of a family after its name.

    Args:
        command: name of the command, as `run`.
        family: family of the topology; None for the options that all families have.
    """
    every = [option for option in OPTIONS if command in option.commands and option.table]
    own = family_options(family) if family and every else ()
    return (*every[:1], *own, *every[1:])


def every_option(command: str) -> tuple[Option, ...]:
    """Returns the options of a command that experiments keep; of a sweep those of all engines, one of a name.

    Args:
        command: name of the command.
    """
    first = options_of(command)
    names = {option.name for option in first}
    others = options_of(SIMULATED_SWEEP) if command == SWEEP else ()
    return (*first, *(option for option in others if option.name not in names))


def own_options(command: str) -> tuple[Option, ...]:
    """Returns the options of a command that experiments do not keep, as `--json`.

    Args:
        command: name of the command.
    """
    return tuple(option for option in OPTIONS if command in option.commands and not option.table)
