"""Events of simulations."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.events.base import Event, Ongoing


@dataclass(frozen=True)
class TablesCompiled(Event):
    """The routing is planned and compiled to forwarding tables."""

    routers: int
    hosts: int
    rules: int
    seconds: float

    def __str__(self) -> str:
        return (
            f"{self.rules} rules of {self.routers} routers with {self.hosts} hosts planned and compiled in "
            f"{self.seconds:.1f} s"
        )


@dataclass(frozen=True)
class KernelsCompiled(Event):
    """The simulator is about to be compiled, which a later simulation need not wait for."""

    def __str__(self) -> str:
        return "the simulator is compiled, which takes some 10 s the first time"


@dataclass(frozen=True)
class CreditsTooFew(Event):
    """The buffers of virtual channels are too small for the time that credits take."""

    needed_flits: int
    buffer_flits: int

    def __str__(self) -> str:
        return (
            f"one virtual channel cannot use a whole link: its buffer must be {self.needed_flits} flits to "
            f"cover the way of a packet and of its credits, got {self.buffer_flits}; raise --buffer-flits"
        )


@dataclass(frozen=True)
class ParametersUnused(Event):
    """Parameters of a routing's control law that decisions for every packet do not have."""

    routing: str
    names: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"parameters of {self.routing} that a decision for every packet does not have: "
            f"{', '.join(self.names)}"
        )


@dataclass(frozen=True)
class RoutesProven(Event):
    """The plan passed its proof: every pair of routers with hosts is connected, within so many hops."""

    pairs: int
    max_hops: int

    def __str__(self) -> str:
        return f"plan proven: {self.pairs} pairs of routers, at most {self.max_hops} hops"


@dataclass(frozen=True)
class PlanNotProven(Event):
    """The fabric is too large for the proof of its plan to be made before every simulation."""

    routers: int
    most: int

    def __str__(self) -> str:
        return (
            f"the plan of {self.routers} routers is not proven before it is simulated, as those of up to "
            f"{self.most} are; `polarlab verify` proves it"
        )


@dataclass(frozen=True)
class ChannelsShared(Event):
    """Rerouted packets may take more hops than there are virtual channels."""

    hops: int
    channels: int

    def __str__(self) -> str:
        return (
            f"rerouted packets may take {self.hops} hops: those beyond hop {self.channels} share its virtual "
            f"channel, and could come to a deadlock; --virtual-channels {self.hops} rules that out"
        )


@dataclass(frozen=True)
class FabricChanged(Event):
    """A fault, or a plan of the controller for one, takes effect."""

    cycle: int
    what: str

    def __str__(self) -> str:
        return f"cycle {self.cycle:,}: {self.what}"


@dataclass(frozen=True)
class SimulationStarted(Event):
    """Simulated traffic begins; `window` cycles are measured after the warm-up."""

    pattern: str
    load: float
    warmup: int | None
    window: int

    def __str__(self) -> str:
        warmup = "a warm-up until the state is steady" if self.warmup is None else f"{self.warmup:,} cycles"
        return f"{self.pattern} traffic at {self.load:g}: {warmup}, then {self.window:,} cycles measured"


@dataclass(frozen=True)
class ApplicationStarted(Event):
    """Messages of an application begin to be sent."""

    pattern: str
    messages: int
    size: str

    def __str__(self) -> str:
        return f"{self.pattern}: {self.messages:,} messages{self.size}"


@dataclass(frozen=True)
class ApplicationCompleted(Event):
    """All iterations of an application with messages of one size, or a trace, were completed."""

    pattern: str
    size: str
    cycles: float
    ideal_cycles: int

    def __str__(self) -> str:
        slowdown = self.cycles / max(1, self.ideal_cycles)
        return f"{self.pattern}{self.size}: {self.cycles:,.0f} cycles, {slowdown:.3f} times the ideal"


@dataclass(frozen=True)
class SimulationProgress(Ongoing):
    """Simulated traffic so far.

    Attributes:
        cycles: simulated cycles.
        total: cycles until the window's end, where that is known; None while the warm-up is on.
        packets: packets that have arrived.
        cycles_per_s: simulated cycles in a second, lately.
    """

    cycles: int
    total: int | None
    packets: int
    cycles_per_s: float

    @property
    def fraction(self) -> float | None:
        """The part of the cycles until the window's end; None where that is not known."""
        return None if self.total is None else min(1.0, self.cycles / self.total)

    def __str__(self) -> str:
        speed = f"{self.cycles_per_s:,.0f} cycles a second"
        return f"{self.cycles:,} cycles, {self.packets:,} packets arrived, {speed}"


@dataclass(frozen=True)
class SimulationUnstable(Event):
    """The network does not carry the load."""

    accepted: float
    offered: float
    latency_cycles: float | None

    def __str__(self) -> str:
        latency = "-" if self.latency_cycles is None else f"{self.latency_cycles:.0f} cycles"
        return (
            f"not stable: accepted {self.accepted:.4f} of {self.offered:.4f} offered, mean latency {latency}"
        )


@dataclass(frozen=True)
class IntervalsUnknown(Event):
    """The window is too short for confidence intervals of some means."""

    window: int
    names: tuple[str, ...]

    def __str__(self) -> str:
        return (
            f"no 95 % intervals of {', '.join(self.names)}: neighbouring parts of the window of "
            f"{self.window:,} cycles depend on one another; raise --cycles, or give --repeat"
        )


@dataclass(frozen=True)
class LoadTried(Event):
    """A load of a search for saturation."""

    load: float
    accepted: float
    latency_cycles: float | None
    stable: bool

    def __str__(self) -> str:
        latency = "-" if self.latency_cycles is None else f"{self.latency_cycles:.1f} cycles"
        found = "stable" if self.stable else "not stable"
        return f"load {self.load:g}: {found}, accepted {self.accepted:.4f}, mean latency {latency}"


@dataclass(frozen=True)
class CurvePointSimulated(Ongoing):
    """A point of a curve of a paper was simulated."""

    curve: str
    point: LoadTried

    def __str__(self) -> str:
        return f"{self.curve}, {self.point}"


@dataclass(frozen=True)
class PointCompared(Event):
    """A measured point was simulated."""

    routing: str
    pattern: str
    load: float

    def __str__(self) -> str:
        return f"{self.routing} under {self.pattern} at {self.load:g} simulated"


@dataclass(frozen=True)
class ClusterReached(Event):
    """The scheduler of a cluster answers, and its workers have the right version."""

    scheduler: str
    workers: int
    threads: int

    def __str__(self) -> str:
        return f"{self.scheduler}: {self.workers} workers with {self.threads} threads in all"


@dataclass(frozen=True)
class PointDeadlocked(Event):
    """The packets of a simulated point came to be in a deadlock."""

    name: str
    reason: str

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True)
class PointsSimulated(Ongoing):
    """Points of a sweep that were simulated so far: `done` of `points`, the last of them named."""

    done: int
    points: int
    name: str

    @property
    def fraction(self) -> float:
        """The part of the points."""
        return self.done / self.points

    def __str__(self) -> str:
        return f"{self.done} of {self.points} points simulated, the last was {self.name}"


@dataclass(frozen=True)
class CrosscheckNotKept(Event):
    """The folder of measured results cannot keep a cross-check."""

    reason: str

    def __str__(self) -> str:
        return f"the cross-check is printed, but not kept for figures: {self.reason}; try sudo"
