"""Options of experiments and commands: each is declared here, once.

Command lines, their help and completion, experiment files and their schema, Python keywords, checks,
manifests and comparisons are derived from these declarations. A table groups options in experiment files and
in the help; a family's parameters are options of the table `topology`. Options without a table, such as
`--json`, belong to commands only; experiments do not keep them.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import fields, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.papers.options import LIST
from experiments.spec.option import Given, Option, lazy_import
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
# Engines of a sweep, the values of --engine; a simulated sweep has its own options.
ENGINE, EMULATION, SIMULATION = "engine", "emulation", "simulation"
ENGINES = (EMULATION, SIMULATION)
SIMULATED_SWEEP = f"{SWEEP} --{ENGINE} {SIMULATION}"
# Commands that are experiments and can be kept in files; commands with a fabric of switches; commands with
# simulated routers; and all commands with a topology.
KINDS = (RUN, SWEEP, FAILOVER, SIMULATE)
_FABRIC = frozenset((RUN, SWEEP, FAILOVER, UP))
SIMULATED = (SIMULATE, SATURATION, SIMULATED_SWEEP)
_GRAPH = _FABRIC | {*SIMULATED, "topology", "verify", "predict", "rules", "explain"}
_SWEEPS = (SWEEP, SIMULATED_SWEEP)  # have lists of routings, patterns and loads
# Commands without a topology, all commands, and commands with JSON output, with a live page, and with options
# for the style of figures.
_LISTS, _RESULTS = ("families", "patterns", "routings"), ("plot", "report", "compare", "crosscheck")
_EVERY = (*_GRAPH, *_LISTS, *_RESULTS, "watch", "paper", "schema", "cite", "doctor", "clean")
_WITH_JSON = frozenset(_EVERY) - {UP, "watch", "schema", "cite"}
_LIVE = (UP, RUN, SWEEP, FAILOVER)
_WATCHED = (*_LIVE, "watch")
_DRAWN = ("plot", "report", "compare")
_RESULT_FOLDER = "directory of a run, a simulation, a sweep or a failover"

AUTO_RATE, GIVEN_RATE, RULE_RATE, STEADY = "auto", "given", "rule", "steady"
DEFAULT_PATTERN, DEFAULT_LOAD, DEFAULT_FLOWS = "uniform", 0.3, 64
MAX_REPEAT, MAX_SEED, MAX_WORKERS = 1000, 2**63 - 1, 1024
MAX_CYCLES, MAX_BUFFER_FLITS, MAX_LINK_CYCLES = 10**9, 65_536, 10_000
TOPOLOGY = "topology"


class TrafficKind(NamedTuple):
    """A kind of traffic, as errors describe it.

    Attributes:
        title: its name.
        asked: the options that select it.
        remedy: advice if an option of another kind is given with it.
    """

    title: str
    asked: str
    remedy: str = "leave it out"


PACKETS, COLLECTIVE, TRACE = "packets", "collective", "trace"
FLOWS, REPLAY, PROGRAMS = "flows", "replay", "programs"
TRAFFIC_KINDS: Mapping[str, TrafficKind] = {
    PACKETS: TrafficKind("packets", "--pattern and --load"),
    COLLECTIVE: TrafficKind(
        "collectives", "--pattern allreduce, all-to-all or a motif", "use --iterations instead"
    ),
    FLOWS: TrafficKind("TCP flows", "--flow-sizes or --flow-file"),
    REPLAY: TrafficKind("a flow file, which sets all hosts and times", "--flow-file"),
    PROGRAMS: TrafficKind("a run that has only programs", "--exec", "also give --pattern or --load"),
    TRACE: TrafficKind("a trace, which sets all hosts and times", "--trace"),
}


class OptionTable(NamedTuple):
    """A table of experiment files: the title of its options in the help, and a sentence about them."""

    title: str
    text: str = ""


TABLES: Mapping[str, OptionTable] = {
    TOPOLOGY: OptionTable("topology"),
    "fabric": OptionTable("fabric"),
    "traffic": OptionTable("traffic"),
    "flows": OptionTable(
        "TCP flows", "Replace packets if --flow-sizes or --flow-file is given (docs/how-to/flows.md)."
    ),
    "collective": OptionTable(
        "collectives", "Apply to --pattern allreduce[:ALGORITHM], all-to-all and motifs."
    ),
    "programs": OptionTable(
        "own programs",
        "With --pattern or --load they run alongside generated traffic. Without either, no traffic is "
        "generated and the measurement ends when all programs have ended.",
    ),
    "simulation": OptionTable(
        "simulated routers", "Timing, buffers and decisions (docs/how-to/simulation.md)."
    ),
    "sweep": OptionTable("sweep"),
    "failover": OptionTable("failover"),
    "output": OptionTable("output"),
}


def default_frame_bytes(mtu: int) -> int:
    """Returns the default frame length for an MTU, both in bytes; frames are counted without FCS."""
    return min(1000, mtu + ETHERNET_BYTES)


def _frame_bytes(experiment: Experiment, values: Mapping[str, Given]) -> Given:
    mtu = int(str(values["mtu"]))
    return default_frame_bytes(mtu) if experiment.traffic_kind == PACKETS else mtu + ETHERNET_BYTES


_CREDIT, _DROP = ("flow-control", "credit"), ("flow-control", "drop")
_NAMED = "experiments.spec.files.named"
_LISTED = lazy_import("experiments.spec.variations:listed_values")  # first argument: the run's option
_VARIED = lazy_import(f"{_NAMED}:files_of_variation")
Options = tuple[Option, ...]


def _integer(name: str, text: str, default: int | None, least: int, most: float, **more: Any) -> Option:
    return Option(name=name, type=int, help=text, default=default, least=least, most=most, **more)


def _number(name: str, text: str, default: float | None, least: float, most: float, **more: Any) -> Option:
    return Option(name=name, type=float, help=text, default=default, least=least, most=most, **more)


def _text(name: str, text: str, default: str | None = None, **more: Any) -> Option:
    return Option(name=name, type=str, help=text, default=default, **more)


def _switch(name: str, text: str, default: bool, **more: Any) -> Option:
    return Option(name=name, type=bool, help=text, default=default, **more)


def _own(name: str, commands: Collection[str], text: str, **more: Any) -> Option:
    """Declares an option that is not stored in experiments, such as `--json`, for some commands."""
    if more.get("type") is bool:
        more["default"] = False
    return Option(**{"name": name, "type": str, "help": text, "commands": commands, "common": True, **more})


def _positional(name: str, commands: Collection[str], text: str, **more: Any) -> Option:
    """Declares a positional argument that is not stored in experiments, for some commands."""
    return _own(name, commands, text, positional=True, required=True, **more)


def _table(table: str, commands: Collection[str], kinds: Collection[str], *declared: Option) -> Options:
    """Assigns options to a table of experiment files, and returns them.

    Args:
        table: name of the table.
        commands: commands of the options that declare none themselves.
        kinds: kinds of traffic of the options that declare none themselves.
        declared: the options.
    """
    return tuple(
        replace(option, table=table, commands=option.commands or commands, kinds=option.kinds or kinds)
        for option in declared
    )


def _of_routers(*declared: Option) -> Options:
    """Returns the options with `setting` set to their key in the object `routers` of results."""
    return tuple(replace(one, setting=one.setting or f"routers.{one.key}") for one in declared)


_cycles = partial(_integer, least=1, most=MAX_LINK_CYCLES, unit="cycles")

# fmt: off
_rate = partial(_text, "link-rate", words=(AUTO_RATE,), metavar="RATE", setting="link_rate_bps",
                text="rate of every port, for example 500kbit; auto: the highest that this machine sustains",
                parse=lazy_import("topology.links:parse_rate_bps"), common=True)
OPTIONS: tuple[Option, ...] = (
    *_table(TOPOLOGY, _GRAPH, (),
        _text(TOPOLOGY, "topology family, or an experiment file (.toml)", setting="name",
              choices=lazy_import("topology.registry:FAMILIES"), default_in={FAILOVER: "polarfly"},
              rule=lazy_import("topology.registry:refuse_file"), metavar="NAME", positional=True,
              common=True),
    ),
    *_table("fabric", _FABRIC, (),
        _integer("hosts", "hosts attached to each router", 1, 1, MAX_HOSTS, metavar="P", common=True,
               commands=_GRAPH - {"explain"}, varies=False),
        _rate(default="2Mbit", default_in={FAILOVER: "20Mbit"}, commands=(UP, FAILOVER)),
        _rate(derived=lazy_import("experiments.doctor.default_rate:default_link_rate"), commands=(RUN, SWEEP),
              default_text="2Mbit, or less if generated traffic would overload this machine"),
        _integer("queue", "capacity of each port's queue", 32, 1, MAX_QUEUE_PACKETS, unit="packets",
               setting="queue_packets"),
        _integer("mtu", "maximum transmission unit of each port", DEFAULT_MTU, MIN_MTU, MAX_MTU, unit="bytes",
               varies=False),
        # In a failover, delay and loss of links would be mistaken for effects of the failure.
        _number("link-delay", "one-way delay of each link between routers", 0.0, 0, MAX_DELAY_MS, unit="ms",
                commands=_FABRIC - {FAILOVER}, setting="link_delay_ms"),
        _number("link-loss", "packet loss probability of each link between routers, such as 0.01", 0.0, 0,
                MAX_LOSS, commands=_FABRIC - {FAILOVER}),
        _text("routing", "routing algorithm", "min", known=lazy_import("routing.registry:ROUTINGS"),
              canonical=lazy_import("experiments.spec.fabric:routing_name"), common=True,
              commands=_GRAPH - {"topology", *_SWEEPS}),
        _switch("local-repair", "fast reroute in switches; without it, only the controller repairs paths",
                True, default_text="on", commands=_FABRIC | {"verify", "rules"}),
        _switch("ordered-repair", "fast reroute only over alternates that keep the channel order acyclic",
                False, excludes=("local-repair",), commands=_FABRIC | {*SIMULATED, "verify", "rules"}),
        _text("datapath", "Open vSwitch datapath", "auto",
              choices=lazy_import("emulation.requirements:DATAPATHS"), setting="datapath_asked",
              varies=False),
        _text("framework", "controller framework", "auto", default_text="auto: os-ken",
              choices=lazy_import("controller.openflow.frameworks:CHOICES"), setting="framework_asked",
              varies=False),
        _text("host-root", "root user of hosts; own: not this machine's root; real: root of this machine",
              "own", choices=lazy_import("emulation.hosts.identity:HOST_ROOTS"), varies=False),
        _text("occupancy", "source of port occupancies for adaptive routings", "netlink", metavar="SOURCE",
              choices=lazy_import("controller.occupancy.source:SOURCES"), setting="occupancy_asked"),
    ),
    *_table("traffic", (RUN, SWEEP), (),
        _text("pattern", "traffic pattern; `polarlab patterns` lists all", DEFAULT_PATTERN, common=True,
              known=lazy_import("experiments.spec.traffic:pattern_names"),
              path=lazy_import(f"{_NAMED}:pattern_file"),
              canonical=lazy_import("experiments.spec.traffic:canonical_pattern"),
              commands=(RUN, "predict", SIMULATE, SATURATION), kinds=(PACKETS, COLLECTIVE, FLOWS)),
        Option(name="load", type=float, help="offered load as a fraction of injection capacity, up to 1",
               default=DEFAULT_LOAD, above=0, most=1, commands=(RUN, "predict", SIMULATE), common=True,
               kinds=(PACKETS, FLOWS)),
        _integer("seed", "seed of the random generator", 1, 0, MAX_SEED, common=True,
               commands=(*KINDS, "predict", SATURATION, SIMULATED_SWEEP)),
        _integer("frame-bytes", "frame length without FCS", None, 1, math.inf, unit="bytes",
               derived=_frame_bytes, default_text="1000; for collectives, set by the MTU",
               kinds=(PACKETS, COLLECTIVE)),
        _integer("flows", "source ports (flows) per host pair", DEFAULT_FLOWS, 1, MAX_FLOWS,
               kinds=(PACKETS, COLLECTIVE)),
        _number("duration", "length of the measurement window", 10.0, 0.1, 86_400, unit="s",
                kinds=(PACKETS, FLOWS), common=True, setting="duration_s"),
        _number("warmup", f"time before the window; `{STEADY}`: until throughput has settled; gives up after "
                "ten times the minimum warm-up", None, 0, 3600, unit="s",
                words=(STEADY,), kinds=(PACKETS, FLOWS), setting="warmup_s",
                derived=lazy_import("experiments.spec.warmup:default_warmup"),
                default_text=f"{STEADY}; with --faults and for TCP flows, the time to drain three full "
                "queues, at least 2 s"),
        _text("arrivals", "arrival process of each host's packets", "poisson", kinds=(PACKETS,),
              commands=(RUN, SWEEP, *SIMULATED), choices=lazy_import("traffic.workload.arrivals:ARRIVALS"),
              default_in=dict.fromkeys(SIMULATED, "bernoulli")),
        _integer("cycles", "length of the measurement window; a link carries one flit per cycle", 3000, 1,
               MAX_CYCLES, unit="cycles", commands=SIMULATED, kinds=(PACKETS,), setting="window_cycles",
               common=True),
        _integer("warmup", f"time before the window; `{STEADY}`: until latency and throughput have settled",
               None, 0, MAX_CYCLES, unit="cycles", words=(STEADY,), commands=SIMULATED, kinds=(PACKETS,),
               default_in=dict.fromkeys(SIMULATED, STEADY), setting="warmup_cycles",
               derived=lazy_import("experiments.spec.warmup:simulated_warmup"),
               default_text=f"{STEADY}; 1000 with --faults"),
        _text("faults", "schedule of failures and restorations: lines like `2.5 fail link:s1-s7`, `4 restore "
              f"link:s1-s7`; or random failures drawn from --seed by mean times, {FORM}", file=True,
              path=lazy_import(f"{_NAMED}:schedule_file"), common=True),
        _text("faults", "schedule of failures and restorations: lines like `2500 fail link:s1-s7`, `4000 "
              "restore link:s1-s7`, times in cycles; or random failures drawn from --seed by mean times, "
              f"{CYCLES.form}", file=True, path=lazy_import(f"{_NAMED}:schedule_file"), kinds=(PACKETS,),
              commands=(SIMULATE, SIMULATED_SWEEP), common=True),
        _integer("replan-cycles", "time from a fault until switches have the controller's new plan; "
               "`none`: never", None, 0, MAX_CYCLES, unit="cycles", words=("none",), needs=("faults",),
               derived=lazy_import("experiments.spec.simulation.model:default_replan_cycles"),
               default_text="1000", commands=(SIMULATE, SIMULATED_SWEEP)),
        _integer("repeat", "number of replications, each with its own seed; results are means with 95 % "
               "intervals", 1, 1, MAX_REPEAT, kinds=(PACKETS, FLOWS, REPLAY, PROGRAMS), varies=False,
               excludes=("faults",), commands=(RUN, SIMULATE, *_SWEEPS), common=True),
    ),
    *_table("flows", (RUN,), (FLOWS, REPLAY),
        _text("flow-sizes", "distribution of TCP flow sizes: web-search, data-mining, fixed:BYTES or "
              "a CSV file", default_text="no flows",
              known=lazy_import("traffic.workload.flows.sizes:PUBLISHED"),
              file=True, path=lazy_import(f"{_NAMED}:sizes_file"), metavar="SIZES", excludes=("flow-file",)),
        _text("flow-file", "CSV file of TCP flows to replay: time_s,source,destination,bytes", file=True),
        _integer("flow-size-limit", "size limit; larger flows are truncated to it", None, 1, MAX_FLOW_BYTES,
               unit="bytes"),
        _text("tcp", "congestion control of the flows, an algorithm of this kernel", metavar="NAME",
              derived=lazy_import("experiments.spec.flows:default_tcp"), default_text="the kernel's"),
        _number("drain", "time after the last flow start in which flows can complete", 10.0, 0, 3600,
                unit="s", setting="drain_s"),
    ),
    *_table("collective", (RUN, SIMULATE), (COLLECTIVE,),
        _integer("ranks", "number of ranks", None, 0, math.inf,
               derived=lazy_import("experiments.spec.collective:all_ranks"),
               default_text="all hosts; for motifs, the largest grid with equal sides"),
        _text("placement", "assignment of ranks to hosts (random:SEED sets its own seed)", "linear",
              known=lazy_import("traffic.workload.placement:PLACEMENTS")),
        _text("message-bytes", "message sizes, such as 64KiB,1MiB", unit="bytes", listed=True,
              derived=lazy_import("experiments.spec.collective:default_sizes"),
              default_text="64KiB,256KiB,1MiB",
              parse=lazy_import("experiments.spec.collective:parse_sizes")),
        _integer("iterations", "measured iterations of each size", 5, 1, 100_000, default_in={SIMULATE: 1}),
        _integer("warmup-iterations", "iterations of each size before the measured ones", 1, 0, 1000,
               commands=(RUN,)),
        _integer("slices", "slices of an allreduce's vector that are processed in parallel", None, 1, 64,
               derived=lazy_import("experiments.spec.collective:default_slices"), default_text="2"),
        _integer("compute-cycles", "computation time of a rank; in a motif before each exchange or block, in "
               "an allreduce for adding what it has received", 0, 0, MAX_CYCLES, unit="cycles",
               commands=(SIMULATE,)),
        _integer("flit-bytes", "size of a flit", 32, 1, 65_536, unit="bytes", commands=(SIMULATE,),
               kinds=(COLLECTIVE, TRACE)),
        _text("trace", "CSV file of messages to send at given times: time_cycles,source,destination,bytes",
              file=True, commands=(SIMULATE,), kinds=(TRACE,)),
    ),
    *_table("programs", (RUN,), (),
        _text("exec", 'host and command, such as "h1_1 iperf3 -c h5_1"; several start together. A line that '
              "ends with & is a server: it starts first and is terminated when the traffic ends",
              repeatable=True, metavar="LINE", setting="programs", common=True),
        _text("exec-file", "file of programs, one per line; lines that start with # are comments", file=True),
        _number("exec-timeout", "timeout of programs, counted from the start of traffic; after it, other "
                "programs and all measurements continue", None, 0.1, 86_400, unit="s", default_text="300",
                derived=lazy_import("experiments.spec.programs:default_timeout_s"), setting="exec_timeout_s",
                needs=("exec", "exec-file")),
    ),
    *_table("simulation", SIMULATED, (), *_of_routers(
        _text("flow-control", "flow control; credit: lossless input queues with virtual channels, like the "
              "papers' routers; drop: output queues that drop packets when full, like switches",
              "credit", choices=lazy_import("experiments.spec.fabric:FLOW_CONTROLS"), metavar="KIND",
              varies=False, common=True),
        _integer("packet-flits", "length of a packet", 4, 1, 64, unit="flits"),
        _integer("virtual-channels", "virtual channels of a port", 4, 1, 16, when=_CREDIT, common=True),
        _integer("buffer-flits", "capacity of a virtual channel's buffer", 32, 1, MAX_BUFFER_FLITS,
               unit="flits", when=_CREDIT),
        _integer("speedup", "flits that a router moves from an input to an output per cycle", 2, 1, 4,
               when=_CREDIT),
        _text("channel-policy", "virtual channel of a packet's next hop; hop: its number of hops so far; "
              "class: one half of the channels up to its intermediate router, the other half after it; "
              "level: its place in hierarchical paths; any: the one with most free buffer; free: a random "
              "one with room; random: a random one", "hop", metavar="POLICY", when=_CREDIT,
              choices=lazy_import("experiments.spec.fabric:CHANNEL_POLICIES")),
        _text("arbitration", "order in which inputs and channels are served", "round-robin", metavar="ORDER",
              choices=lazy_import("experiments.spec.fabric:ARBITRATIONS"), when=_CREDIT),
        _cycles("router-cycles", "time of a packet's head flit in an uncontended router", 2),
        _cycles("link-cycles", "latency of a link between routers", 1),
        _cycles("global-link-cycles", "latency of a link between clusters of routers (supernodes, groups)",
                None, default_text="--link-cycles"),
        _cycles("host-link-cycles", "latency of a link between a router and a host", 1),
        _cycles("credit-cycles", "time for a credit to return upstream", 2, when=_CREDIT),
        _integer("queue", "capacity of an output queue; for --flow-control drop", 32, 1, MAX_QUEUE_PACKETS,
               unit="packets", when=_DROP, setting="routers.queue_packets"),
        _number("burst", "burst that an idle link sends back to back; for --flow-control drop", 2.0, 1,
                1000, unit="packets", when=_DROP, setting="routers.burst_packets"),
        _text("decision", "rule by which a source chooses minimal path or detour: for each packet, such as "
              "threshold:0.5 (of a channel's buffer or a queue) or product:candidates=2; or for flows, by "
              "the routing's control law, such as buckets:period=50 (cycles)",
              default_text="set by the routing",
              known=lazy_import("experiments.spec.simulation.decisions:DECISIONS"),
              canonical=lazy_import("experiments.spec.simulation.decisions:decision_name"), metavar="LAW"),
        _number("precision", "step between the loads that are tried", 0.01, 0.001, 0.5,
                commands=(SATURATION,), common=True),
    )),
    *_table("sweep", _SWEEPS, (),
        _text(ENGINE, "engine of all points; emulation: switches and real packets; simulation: simulated "
              "routers, no root needed", EMULATION, choices=lambda: ENGINES,
              default_in={SIMULATED_SWEEP: SIMULATION}, metavar="ENGINE", common=True),
        _text("routings", "routing algorithms", "min,ugal-pf", known=lazy_import("routing.registry:ROUTINGS"),
              parse=partial(_LISTED, "routing"), listed=True, common=True),
        _text("patterns", "traffic patterns; `polarlab patterns` lists all", "uniform,tornado", listed=True,
              common=True,
              known=lazy_import("traffic.workload.patterns:PATTERNS"),
              parse=partial(_LISTED, "pattern"), paths=lazy_import(f"{_NAMED}:files_of_patterns")),
        _text("loads", "offered loads, such as 0.1,0.5 or FIRST:LAST:STEP", "0.1:0.9:0.2", listed=True,
              parse=partial(_LISTED, "load"), common=True),
        _text("vary", "further values to sweep, such as queue=8,32 or ugal-pf.threshold=0.3:0.9:0.1; repeat "
              "it for several keys. KEY is an option of traffic or links, ROUTING.PARAMETER or "
              "PATTERN.PARAMETER; VALUES are a list or FIRST:LAST:STEP. Topology, hosts, mtu and datapath "
              "need a new fabric for each value: run one sweep per value",
              repeatable=True, keyed=True, metavar="KEY=VALUES", commands=(SWEEP,),
              known=lazy_import("experiments.spec.variations:known_keys"), paths=_VARIED,
              parse=lazy_import("experiments.spec.variations:check_variation"), common=True),
        _text("vary", "further values to sweep, such as cycles=3000,10000 or virtual-channels=4,8; repeat it "
              "for several keys. KEY is an option of traffic or of simulated routers (except flow-control), "
              "ROUTING.PARAMETER or PATTERN.PARAMETER; VALUES are a list or FIRST:LAST:STEP",
              repeatable=True, keyed=True, metavar="KEY=VALUES", commands=(SIMULATED_SWEEP,),
              known=lazy_import("experiments.spec.variations:known_simulated_keys"), paths=_VARIED,
              parse=lazy_import("experiments.spec.variations:check_simulated_variation"), common=True),
    ),
    *_table("failover", (FAILOVER,), (),
        _text("fail", "links and switches to fail, separated by commas: link:s1-s7, switch:s4, hang:s4 (its "
              "program dies, its links stay up), random:3 (links), random-link, random-switch",
              listed=True, metavar="COMPONENTS",
              default_text="the link on the largest number of minimal paths", common=True),
        _switch("kill-controller", "kill the controller before the failure and restart it before the "
                "restoration", False, common=True),
        _integer("repeat", "number of failovers on the same fabric, each with its own seed", 1, 1,
               MAX_REPEAT, common=True),
    ),
    *_table("output", _FABRIC, (),
        _text("pcap", "capture packets at hosts (h1_1), switch ports (s5-eth3 or s5:3) or both ends of links "
              "(link:s1-s7), separated by commas", repeatable=True, metavar="LIST", commands=(RUN, UP)),
        _text("out", "output directory", default_text="a new one in results/", file=True, metavar="DIR",
              commands=(RUN, FAILOVER, SIMULATE), common=True),
        _text("out", "output directory; an unfinished sweep in it resumes", file=True, metavar="DIR",
              commands=(SWEEP,), default_text="in results/, named by topology, hosts and rate", common=True),
        _text("out", "output directory; an unfinished sweep in it resumes", file=True, metavar="DIR",
              commands=(SIMULATED_SWEEP,), default_text="in results/, named by topology and hosts",
              common=True),
        _text("out", "output directory of the session: link loads and drops over time, faults, and the "
              "lines that ran", default_text="no files", file=True, metavar="DIR", commands=(UP,),
              common=True),
    ),
    # Options that belong to commands only; experiments do not keep them.
    _positional("demonstration", (FAILOVER,), "name of the demonstration", choices=lambda: (FAILOVER,),
                domain_text=f"{FAILOVER} or web", metavar=FAILOVER),
    _positional("results", ("watch",), "directory of a run, failovers or a sweep of runs", file=True,
                metavar="RESULTS"),
    _positional("results", ("plot", "report"), _RESULT_FOLDER, file=True,
                metavar="RESULTS"),
    _positional("results", ("crosscheck",), "directory of a run or a sweep; or arguments and options of "
                "`polarlab run`, which then runs first (needs root)", file=True, metavar="RESULTS"),
    _positional("runs", ("compare",), _RESULT_FOLDER, file=True, repeatable=True,
                metavar="RUN"),
    _positional("switch", ("rules",), "switch, such as s3", metavar="switch"),
    _positional("switch", ("explain",), "source switch, such as s3", metavar="switch"),
    _positional("other", ("explain",), "destination switch, such as s17", metavar="other"),
    _own("failures", ("verify",), "failures, one at a time", default="none",
         choices=lazy_import("topology.failures:SCENARIOS")),
    _own("deadlock", ("verify",), "also prove the absence of deadlock on a lossless network: packets "
         "never wait for one another in a cycle", type=bool),
    _own("virtual-channels", ("verify",), "virtual channels that --deadlock assumes: one, or hop:N, where a "
         "packet uses the channel of its hop number", default_text="one", metavar="one|hop:N", common=False),
    _own("count-layers", ("verify",), "count the acyclic layers into which --deadlock divides the paths; "
         "needs a single path per pair", type=bool, common=False),
    _own("certificate", ("verify",), "write the proof of --deadlock, an acyclic order of channels, to "
         "this new file, .csv", file=True),
    _own("figure", ("verify",), "draw the cycle found by --deadlock to this new file, .png, .svg or .pdf",
         file=True),
    _own("without", ("rules",), "failed links and switches, such as link:s1-s7,switch:s4",
         metavar="COMPONENTS"),
    _own("list", ("topology",), "list all families with their parameters and an example", type=bool),
    _own("list", ("patterns", "routings"), "list all, as without this option", type=bool),
    _own("designs", ("topology",), "list all PolarStars of a --radix by size", type=bool),
    _own("classes", ("topology",), "show classes of routers under the graph's automorphisms", type=bool),
    _own("racks", ("topology",), "show racks and the number of links between each pair of them", type=bool),
    _own("radix", ("families",), f"{RADIX.help}; without --endpoints, the member with most hosts at "
         "the nearest radix", type=int, least=RADIX.least, most=RADIX.most, default_text="any"),
    _own("endpoints", ("families",), f"{ENDPOINTS.help}; without --radix, selects the smallest radix of the "
         "members within 10 % of this number, else the nearest; with --radix, the smallest sum of relative "
         "differences",
         type=int, least=ENDPOINTS.least, most=ENDPOINTS.most, default_text="any"),
    _own("group", ("families",), "group of families", choices=lazy_import("topology.families.family:SERIES"),
         default_text="all"),
    _own("costs", ("families",), "also compute bisections, cables between racks and costs (takes longer)",
         type=bool),
    _own("prices", ("families", "paper"), "file of router and cable prices, .toml",
         default_text="prices of the Slim Fly paper", file=True),
    _own("export", ("topology",), "write the graph to this new file; - is standard output",
         metavar="FORMAT FILE", file=True,
         known=lazy_import("experiments.theory.export:FORMATS")),
    _own("figure", ("topology",), "draw the graph to this new file, .png, .svg or .pdf", file=True),
    _own("figure", ("compare",), "draw the comparison to this new file, .png, .svg or .pdf", file=True),
    _own("format", ("plot",), "file formats: png, svg, pdf", listed=True, default_text="png,svg"),
    _own("width", _DRAWN, "width of figures, such as 3.3in or 84mm; text and panels are fitted to it",
         default_text="set by the kind of figure"),
    _own("no-title", _DRAWN, "draw figures without titles", type=bool),
    _own("order", _DRAWN, "names of panels and curves to draw first, such as uniform,ugal-pf",
         listed=True, default_text="by name"),
    _own("x", _DRAWN, "horizontal axis of sweeps: a key of --vary, or `load`", metavar="KEY",
         default_text="load if it varies, else the first numeric key"),
    _own("booksim", _DRAWN, "add results of the PolarFly authors' simulator to figures of sweeps; "
         "available for ER_5 with 3 hosts per router", type=bool, common=False),
    _own("exec", (UP,), "line to run at the prompt; several run in order until one fails (exit status 1), "
         "unless it ends in `|| true`", default_text="an open prompt, or the lines of standard input",
         metavar="CMD", repeatable=True),
    _own("web", _LIVE, "serve a live page, on 127.0.0.1:8642 or another address, such as --web=8080",
         default_text="no page", metavar="[HOST:]PORT"),
    _own("web", ("watch",), "address of the live page, such as --web=8080", default_text="127.0.0.1:8642",
         metavar="[HOST:]PORT"),
    _own("web-certificate", _WATCHED, "TLS certificate of the live page, PEM", file=True,
         default_text="plain HTTP", common=False),
    _own("web-key", _WATCHED, "private key of the TLS certificate, PEM", file=True, default_text="plain HTTP",
         common=False),
    _own("web-open", _WATCHED, "serve the live page without a token, to all users of this machine", type=bool,
         common=False),
    _own("wait", (FAILOVER,), "wait before the failure until a browser opens the page or you press Enter, "
         "and keep the page until Ctrl-C; in a terminal, --web does so by itself", type=bool),
    _own("out", ("plot",), "directory for the figures", default_text="RESULTS", file=True, metavar="DIR"),
    _own("out", ("report",), "new file for the page", default_text="report.html in RESULTS", file=True),
    _own("again", KINDS, "repeat the experiment in the manifest of these results; other options override it",
         file=True, metavar="DIR"),
    _own("plugin", _EVERY, "file with your own topologies, routings, patterns, collectives or motifs",
         file=True, repeatable=True, metavar="FILE.py", common=False),
    _own("run-programs", _EVERY, "use programs, input files, output directories and plug-ins that another "
         "user's files or results name, without asking first", type=bool,
         common=False),
    _own("print-config", KINDS, "print the experiment as a file and run nothing", type=bool,
         common=False),
    _own("estimate", (SWEEP, SIMULATE, SATURATION, "paper"), "estimate points, time and memory; run and "
         "write nothing", type=bool),
    _own("strict", (RUN, SWEEP), "exit with status 1 if a result is not valid", type=bool, common=False),
    _own("workers", (SWEEP, "paper"), "number of local processes that simulate points", type=int, least=1,
         most=MAX_WORKERS, default_text="one per core"),
    _own("scheduler", (SWEEP, "paper"), "scheduler of a dask.distributed cluster that simulates points, "
         "tcp://HOST:PORT", default_text="this machine", metavar="ADDRESS", common=False),
    _own("cluster-tls", (SWEEP, "paper"), "folder with ca.pem, certificate.pem and key.pem, for --scheduler "
         "tls://HOST:PORT", default_text="dask's configuration", file=True, metavar="DIR", common=False),
    _own("insecure-cluster", (SWEEP, "paper"), "trust a scheduler on another machine without TLS, and "
         "any scheduler when run as root; a cluster can run code here", type=bool, common=False),
    _positional("paper", ("paper",), "name of a paper, or `list` for the figures and tables of all papers",
                known=lazy_import("experiments.papers.claims:PAPERS"), words=(LIST,), metavar="PAPER"),
    _own("item", ("paper",), "figure or table, such as fig12, or `all`", positional=True, metavar="ITEM"),
    _own("item", ("cite",), "`polarlab` for this software, or a paper; without it, all", positional=True,
         known=lazy_import("experiments.papers.citations:citations"), metavar="PAPER"),
    _own("quick", ("paper",), "use fewer sizes and runs, and simulate smaller networks", type=bool),
    _own("seeds", ("paper",), "number of random failure orders, bisection searches, or simulations per point",
         type=int, least=1, most=10_000, default_text="set by the figure or table"),
    _own("curves", ("paper",), "curves to simulate, by their labels in the figure, such as PF-MIN, or under "
         "one pattern, such as PF-MIN:tornado, or `none`; other curves use points in the output directory",
         default_text="all", metavar="LABEL,..."),
    _own("out", ("paper",), "output directory; figures and tables complete there are not computed again",
         default_text="in results/papers, named by paper and options", file=True, metavar="DIR"),
    _own("json", _WITH_JSON, "print one JSON object on standard output", type=bool),
)
# fmt: on


def declared_kind(kind: str, values: Mapping[str, Any]) -> str:
    """Returns the name under which an experiment's options are declared.

    Args:
        kind: kind of the experiment, or name of a command.
        values: option -> value; the options of a sweep depend on its engine.
    """
    return SIMULATED_SWEEP if kind == SWEEP and values.get(ENGINE) == SIMULATION else kind


def noun_of(kind: str) -> str:
    """Returns the noun for an experiment of a kind: `simulation` for `simulate`."""
    return "simulation" if kind == SIMULATE else kind


def option_of(name: str, command: str) -> Option:
    """Returns the declaration of an option of a command."""
    return next(option for option in OPTIONS if option.name == name and command in option.commands)


@cache
def option_names() -> frozenset[str]:
    """Returns the names of all options of experiments, which parameters of families must not reuse."""
    return frozenset(option.name for option in OPTIONS if option.table)


def family_options(family: str) -> tuple[Option, ...]:
    """Returns the parameters of a family as options.

    A parameter NAME becomes `--topology-NAME` if experiments have another option with its name.
    """
    from topology.registry import FAMILIES

    declared = []
    for parameter in FAMILIES[family].parameters:
        given = {entry.name: getattr(parameter, entry.name) for entry in fields(parameter)}
        if parameter.name in option_names():
            given["name"] = f"{TOPOLOGY}-{parameter.name}"
        declared.append(Option(**given, table=TOPOLOGY, commands=_GRAPH, setting=parameter.key))
    return tuple(declared)


def options_of(command: str, family: str | None = None) -> tuple[Option, ...]:
    """Returns those options of a command that are stored in experiments.

    Parameters of the family follow the option `topology`.

    Args:
        command: name of the command, such as `run`.
        family: family of the topology; None for the options common to all families.
    """
    every = [option for option in OPTIONS if command in option.commands and option.table]
    own = family_options(family) if family and every else ()
    return (*every[:1], *own, *every[1:])


def every_option(command: str) -> tuple[Option, ...]:
    """Returns those options of a command that are stored in experiments, of all engines.

    If two engines declare an option of a sweep with the same name, the emulation's is returned.

    Args:
        command: name of the command.
    """
    first = options_of(command)
    names = {option.name for option in first}
    others = options_of(SIMULATED_SWEEP) if command == SWEEP else ()
    return (*first, *(option for option in others if option.name not in names))


def own_options(command: str) -> tuple[Option, ...]:
    """Returns those options of a command that are not stored in experiments, such as `--json`.

    Args:
        command: name of the command.
    """
    return tuple(option for option in OPTIONS if command in option.commands and not option.table)
