"""Metrics: the quantities that results report, one line of `METRICS` each.

To add a metric:

1. Compute its value. Switches: a field of `Summary` (`experiments/results/model.py`), filled by `summarise`
   in `experiments/results/summary.py`, or a property of that record. Simulator: the same with
   `SimulationSummary` and the modules of these names in `experiments/results/simulation/`. Latencies are in
   ms for switches and in cycles for the simulator, so their fields and metrics differ (`latency_ms`,
   `latency_cycles`). A field's type says how seeds are combined (`parts.over_seeds`); metrics in `repeat`
   are means.
2. Add a line to `METRICS`: `_emulated`, `_simulated` or, for both engines, `Metric`. The columns of
   `points.csv`, means and intervals over seeds, comparisons, reports and the tables of `polarlab sweep` are
   derived from it.
3. Run `make keys`, which writes docs/reference/keys.md.
4. Run `tests/unit/test_golden.py`. It fails because of the new name; tests/data/golden/README.md says how to
   update the expected values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import Enum, Flag, auto
from functools import partial
from typing import Any, Self, TypeVar

from experiments.spec.options import SIMULATED_SWEEP, SWEEP

AnyClass = TypeVar("AnyClass", bound=type)


class Engine(Enum):
    """Engine of an experiment: switches or the simulator.

    A member's value is the summary's key that says whether the result is sound.

    Attributes:
        unit: unit of its latencies.
        sweep: kind of its sweeps.
        done: participle for its results, such as `measured`.
        doubt: description of an unsound result, for legends.
        mark: suffix of titles; empty for switches.
    """

    EMULATION = "valid", "ms", SWEEP, "measured", "result not valid", ""
    SIMULATION = "stable", "cycles", SIMULATED_SWEEP, "simulated", "not stable", ", simulated"

    def __new__(cls, value: str, *_more: str) -> Self:
        """Returns a member; its value is the first argument, and `__init__` stores the others."""
        one = object.__new__(cls)
        one._value_ = value
        return one

    def __init__(self, _value: str, unit: str, sweep: str, done: str, doubt: str, mark: str) -> None:
        self.unit, self.sweep, self.done, self.doubt, self.mark = unit, sweep, done, doubt, mark

    def is_doubtful(self, summary: Any) -> bool:
        """Returns whether a result is unsound; False for applications, which have no offered load."""
        return metric_of(self, self.value).of(summary) is False


class Better(Enum):
    """Whether higher or lower values of a metric are better."""

    MORE = "more is better"
    LESS = "less is better"


class In(Flag):
    """Outputs in which a metric appears.

    POINTS: a column of `points.csv`. HALVES: another column, with half the width of the metric's interval.
    SEEDS: mean and interval in `repeat`. RESULTS: a row in comparisons of single results. REPORT: a column in
    a report's table of points. SWEEP: a column that `polarlab sweep` prints. GLANCE: a value in Python's
    short representation. PANEL: a panel in figures of several seeds. BARS: a panel in figures that compare
    single results.
    """

    POINTS = auto()
    HALVES = auto()
    SEEDS = auto()
    RESULTS = auto()
    REPORT = auto()
    SWEEP = auto()
    GLANCE = auto()
    PANEL = auto()
    BARS = auto()


_EVERYWHERE = ~In(0)


@dataclass(frozen=True)
class Metric:
    """A quantity that results report, such as accepted load.

    Attributes:
        path: its path in a summary, such as `latency_ms.p99`.
        title: what it measures.
        unit: its unit, or the whole that it is a share of.
        better: whether higher or lower is better; None if neither is.
        places: where it appears.
        kind: float, int or bool: type for reading and printing.
        engines: engines whose results have it.
        optional: whether comparisons omit it if no result has it.
        required: whether tables must have it; tables of older versions may lack other metrics.
        name: its name in tables, if it differs from the last part of the path.
    """

    path: str
    title: str
    unit: str = ""
    better: Better | None = None
    places: In = _EVERYWHERE
    kind: type = float
    engines: tuple[Engine, ...] = tuple(Engine)
    optional: bool = False
    required: bool = False
    name: str = ""

    @property
    def key(self) -> str:
        """The metric's name in tables, which ends with its unit."""
        return self.name or self.path.rpartition(".")[2]

    def of(self, summary: Any) -> Any:
        """Returns the metric's value in a summary (the mean over replications); None if it has none."""
        mean = getattr(summary.repeat, self.key, None) if In.SEEDS in self.places else None
        if mean is not None:
            return mean.mean
        for name in self.path.split("."):
            summary = getattr(summary, name, None)
        return summary

    def half_of(self, summary: Any) -> float | None:
        """Returns half the width of the metric's confidence interval, over seeds or else over batches."""
        means = summary.repeat or getattr(summary, "batches", None)
        return getattr(getattr(means, self.key, None), "ci95", None)

    @property
    def half(self) -> str:
        """Name of the column with half the width of the metric's interval."""
        end = f"_{self.unit}"
        return f"{self.key.removesuffix(end)}_ci95{end}" if self.key.endswith(end) else f"{self.key}_ci95"

    @property
    def label(self) -> str:
        """Title and unit, for axes."""
        link = ", " if self.unit.startswith("of ") else " in "
        return f"{self.title}{link if self.unit else ''}{self.unit}"

    @property
    def meaning(self) -> str:
        """The metric's description in docs/reference/keys.md."""
        return f"{self.label}, as `{self.path}` of the summary" if "." in self.path else self.label


_CAPACITY, _SENT, _FRAMES = "of the injection capacity", "of the packets sent", "frame times"
_MORE, _LESS = Better.MORE, Better.LESS
_SHOWN = In.POINTS | In.RESULTS
_MEAN = _SHOWN | In.SEEDS
_LISTED = In.POINTS | In.REPORT
_APPLICATION = In.RESULTS | In.GLANCE
_DRAWN = In.GLANCE | In.PANEL | In.BARS
_SOUND = _SHOWN | In.REPORT | In.SWEEP
_emulated = partial(Metric, engines=(Engine.EMULATION,))
_simulated = partial(Metric, engines=(Engine.SIMULATION,))


def _latencies(engine: Engine) -> tuple[Metric, ...]:
    """Returns three metrics of latency (mean, median, 99th percentile), in the unit of an engine."""
    unit, metric = engine.unit, partial(Metric, engines=(engine,))
    record, name = f"latency_{unit}", f"latency_{{}}_{unit}".format
    shown = _MEAN | In.REPORT | _DRAWN
    return (
        metric(f"{record}.mean", "mean latency", unit, _LESS, _EVERYWHERE ^ In.BARS, name=name("mean")),
        metric(f"{record}.p50", "median latency", unit, _LESS, _MEAN, name=name("p50")),
        metric(f"{record}.p99", "99th percentile of latency", unit, _LESS, shown, name=name("p99")),
    )


# In the order of columns.
METRICS: tuple[Metric, ...] = (
    Metric("offered", "offered load", _CAPACITY, None, _MEAN | _LISTED | In.SWEEP | In.GLANCE, required=True),
    Metric("accepted", "accepted load", _CAPACITY, _MORE, required=True),
    Metric("loss", "loss", _SENT, _LESS, _MEAN | In.REPORT | _DRAWN),
    *_latencies(Engine.EMULATION),
    _emulated(
        "latency_ms.p99_9",
        "99.9th percentile of latency",
        "ms",
        _LESS,
        _MEAN ^ In.POINTS,
        name="latency_p99_9_ms",
    ),
    *_latencies(Engine.SIMULATION),
    _emulated("out_of_order", "packets out of order", "", None, _LISTED, int),
    _emulated("reordered", "packets out of order", "of those received", _LESS, In.RESULTS),
    # Comparisons of single results use a shorter name.
    Metric("predicted.accepted", "predicted load", _CAPACITY, None, _LISTED, name="predicted_accepted"),
    Metric("predicted.accepted", "predicted load", _CAPACITY, None, In.RESULTS, name="predicted"),
    _emulated("adaptation.groups_modified", "groups modified by the controller", "", None, In.POINTS, int),
    _emulated("fidelity.valid", "whether the result is valid", "", None, _SOUND, bool, required=True),
    _simulated("stable", "whether the load is stable", "", None, _SOUND, bool, required=True),
    _simulated("steady", "whether the window started in a steady state", "", None, In.POINTS, bool),
    _simulated("deadlocked", "whether the network deadlocked", "", None, _SHOWN, bool, name="deadlock"),
    _emulated("fidelity.cpu_idle", "minimum idle share", "of all cores", _MORE, In.POINTS),
    _emulated("fidelity.generator_lag_ms_p99", "99th percentile of senders' lag", "ms", _LESS, In.POINTS),
    _emulated("fidelity.link_rate_error", "relative error of a saturated link's rate", "", None, In.POINTS),
    _emulated("fidelity.lost_outside_queues", "loss outside queues", _SENT, _LESS, In.POINTS),
    # Not a metric, but a column at this position.
    Metric("seed", "seed of the random generator; the first one of replications", "", None, In.POINTS, int),
    Metric("hops_mean", "mean number of links between routers", "", _LESS, _SHOWN | In.REPORT),
    _simulated("detoured", "packets with a detour", "of those received", None, _MEAN | In.REPORT),
    Metric("links.load_max", "highest load of a link", "", _LESS, _SHOWN | In.REPORT, name="link_load_max"),
    Metric("links.load_mean", "mean load of links", "", None, In.POINTS, name="link_load_mean"),
    Metric("links.jain", "fairness of the links' loads", "", _MORE, _SHOWN),
    Metric("links.dropped_packets", "packets dropped between routers", "", _LESS, _SHOWN, int),
    _emulated(
        "host_links.dropped_packets",
        "packets dropped at hosts",
        "",
        _LESS,
        In.RESULTS,
        int,
        name="dropped_at_hosts",
    ),
    _emulated("fidelity.held_frame_times_max", "maximum mean time in a switch", _FRAMES, _LESS, In.POINTS),
    _emulated("fidelity.held_frame_times_mean", "mean time in a switch", _FRAMES, _LESS, In.POINTS),
    Metric("queueing_frame_times", "mean time in queues", _FRAMES, _LESS, _MEAN),
    Metric("rules.flows", "rules of all switches", "", _LESS, In.RESULTS, int, name="rules"),
    Metric("rules.groups", "groups of all switches", "", _LESS, In.RESULTS, int),
    _simulated("application.completion_cycles", "completion", "cycles", _LESS, _APPLICATION, optional=True),
    _simulated("application.ideal_cycles", "ideal completion", "cycles", _LESS, _APPLICATION, optional=True),
    _simulated("collective.slowdown", "slowdown", "", _LESS, In.RESULTS, optional=True),
    _simulated(
        "trace.slowdown.p99",
        "99th percentile of slowdown",
        "",
        _LESS,
        In.RESULTS,
        optional=True,
        name="slowdown_p99",
    ),
    _emulated("flows.fct_ms.mean", "mean completion of flows", "ms", _LESS, In.SEEDS, name="fct_mean_ms"),
    _emulated("flows.slowdown.mean", "mean slowdown of flows", "", _LESS, In.SEEDS, name="slowdown_mean"),
    _emulated("flows.slowdown.p50", "median slowdown of flows", "", _LESS, In.SEEDS, name="slowdown_p50"),
    _emulated("flows.slowdown.p99", "99th percentile of slowdown", "", _LESS, In.SEEDS, name="slowdown_p99"),
)


def metrics(engine: Engine, places: In) -> Iterator[Metric]:
    """Yields the metrics of an engine that appear in one of the given outputs, in the order of columns."""
    return (one for one in METRICS if engine in one.engines and one.places & places)


def metric_of(engine: Engine, key: str) -> Metric:
    """Returns the metric that has a key in results of an engine."""
    return next(one for one in metrics(engine, In.POINTS) if one.key == key)


def with_fields(fields: Iterable[tuple[str, Any, Any]]) -> Callable[[AnyClass], AnyClass]:
    """Returns a class decorator that appends field declarations; apply it before `dataclass`.

    Args:
        fields: (name, type, default) of each field.
    """

    def declared(kind: AnyClass) -> AnyClass:
        for name, hint, default in fields:
            kind.__annotations__[name] = hint
            setattr(kind, name, default)
        return kind

    return declared
