"""Typed results of failover demonstrations, key by key.

`summary.json` is FailoverSummary as JSON, or FailoverSeries of several failovers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from experiments.codec import FORMAT, omitted
from experiments.results.parts.faults import FaultRecord
from experiments.results.parts.replications import Interval, check_seeds
from topology.parameters import Value

# From so much stolen processor time on, losses may be the machine's: on ER_5, runs with 80 ms and 1,870 ms
# lost probes, and none with less.
DISTURBED_FROM_MS = 50


@dataclass(frozen=True)
class Phase:
    """Probes that were sent before the failure, while it stood, or after it was repaired.

    Attributes:
        sent: probes of watched and of all pairs that were sent in the phase.
        lost: probes sent in the phase that never arrived.
        longest_silence_ms: longest time in ms between two arrivals of a watched pair's probes.
        hops_mean: mean number of links between routers that watched pairs' probes took; None if none arrived.
        hops_max: most links that such a probe took; None if none arrived.
    """

    sent: int
    lost: int
    longest_silence_ms: float
    hops_mean: float | None
    hops_max: int | None


@dataclass(frozen=True)
class Phases:
    """Phases of a demonstration.

    Attributes:
        before: before the failure.
        failed: while it stands.
        restored: after the restoration.
    """

    before: Phase
    failed: Phase
    restored: Phase


@dataclass(frozen=True)
class ControllerRestart:
    """Course of a new controller's start, in ms since its start; a step that did not happen is None.

    Attributes:
        began_ms: its start in ms since the failure.
        listening_ms: time in ms until it listened, its plan proven.
        connected_ms: time in ms until the last switch that works had called it; switches call every 1 to 4 s.
        in_charge_ms: time in ms until all switches held its plan, or it went on without those that were late.
    """

    began_ms: float
    listening_ms: float | None
    connected_ms: float | None
    in_charge_ms: float | None


@dataclass(frozen=True, kw_only=True)
class FailoverSummary:
    """Result of a failover demonstration.

    Attributes:
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        routing: name of the routing.
        hosts: p, hosts attached to each router that has any; of a graph with hosts of its own (`--from`,
            networkx), the factor of their numbers.
        local_repair: whether switches have backup paths.
        failed: names of the elements that failed, the controller among them.
        pairs_watched: pairs of hosts that were probed every `probe_interval_ms`.
        packets_sent: probes that were sent in the whole demonstration.
        packets_lost: probes that never arrived.
        gap_ms: longest time in ms between two arrivals of a watched pair while the failure stood: over all
            watched pairs the greatest difference of neighbours among begin of the failure, arrivals of the
            pair's probes that were sent while it stood, and its end (or the last observation, if it was
            interrupted); about `probe_interval_ms` where nothing is lost.
        probe_interval_ms: time between two probes of a watched pair in ms.
        all_pairs_interval_ms: length of a round in ms, in which all pairs are probed once, one by one.
        repaired_by: `switches`, `controller`, `nobody` or `nothing was broken`.
        repaired_ms: time in ms from the failure until all watched pairs were heard again; 0 if no probe was
            lost, None if never.
        controller_converged_ms: time in ms from the failure until the controller's new plan was in place;
            None if there was none. A controller that was killed starts 800 ms after the failure, and
            switches call it again after 1 to 4 s.
        controller_restart: course of that start; absent if the controller was not killed.
        cut_off_pairs: ordered pairs of routers without any path while the failure stood.
        silent_pairs: watched pairs that were still silent at the end of the failure.
        faults: faults injected, and the controller's plans.
        lost_at_restore: probes sent after the restoration that never arrived.
        phases: counts by phase.
        pairs_affected: pairs whose minimal path crosses a failed element and that are not cut off.
        cpu_stolen_ms: processor time in ms that this virtual machine wanted and did not get.
        generator_lag_ms_p99: departure of a probe less its scheduled time, 99th percentile in ms.
        interrupted: whether the demonstration was ended early.
        restored: whether all pairs took their first paths again at the end; None if that was not checked.
        negative: what should not have happened, a sentence; None if all went well.
        format: version of this record's meaning.
    """

    name: str
    params: Mapping[str, Value]
    routing: str
    hosts: int
    local_repair: bool
    failed: tuple[str, ...]
    pairs_watched: int
    packets_sent: int
    packets_lost: int
    gap_ms: float
    probe_interval_ms: float
    all_pairs_interval_ms: float
    repaired_by: str
    repaired_ms: float | None
    controller_converged_ms: float | None
    cut_off_pairs: int
    silent_pairs: int
    faults: FaultRecord
    lost_at_restore: int
    phases: Phases
    pairs_affected: int
    cpu_stolen_ms: int = 0
    generator_lag_ms_p99: float | None = None
    interrupted: bool = False
    restored: bool | None = None
    negative: str | None = None
    format: int = FORMAT
    controller_restart: ControllerRestart | None = omitted()

    def reason(self, troubles: tuple[str, ...]) -> str | None:
        """Returns the reason why the result is negative, a sentence; None if it is not.

        Args:
            troubles: reasons why the fabric was not as before at the end.
        """
        if troubles:
            return troubles[0]
        if self.silent_pairs:
            return f"{self.silent_pairs} pairs that are not cut off were silent until the repair"
        lost = self.lost_at_restore if self.pairs_affected else self.packets_lost
        if not lost:
            return None
        text = f"{lost} probes were lost while nothing was broken, or only the controller"
        if self.cpu_stolen_ms >= DISTURBED_FROM_MS:
            text += f"; {self.cpu_stolen_ms} ms of this virtual machine's processor time were stolen then"
        return text


@dataclass(frozen=True, kw_only=True)
class Distribution(Interval):
    """Distribution of a value over failovers.

    Attributes:
        missing: failovers without the value, because what it measures never happened.
        p50: median, between two values by linear interpolation.
        p90: quantile of 90 %, by linear interpolation.
        p99: quantile of 99 %, by linear interpolation; of few values it is near the greatest.
        p50_ci95: limits of the 95 % confidence interval of the median, which are two of the values, whatever
            the distribution is; None of fewer than six values.
        max: the greatest value.
    """

    missing: int
    p50: float
    p50_ci95: tuple[float, float] | None
    p90: float
    p99: float
    max: float


@dataclass(frozen=True, kw_only=True)
class Repetition:
    """One failover of a series, a row of `failovers.csv`; None is an empty cell.

    Attributes:
        seed: seed of the failover, which names its folder.
        failed: names of the elements that failed, the controller among them, with commas between them.
        gap_ms: longest time in ms between two arrivals of a watched pair while the failure stood.
        packets_sent: probes that were sent in the failover.
        packets_lost: probes that never arrived.
        lost_at_restore: probes sent after the restoration that never arrived.
        silence_before_ms: longest time in ms between two arrivals of a watched pair before the failure, which
            shows the noise.
        repaired_by: `switches`, `controller`, `nobody` or `nothing was broken`.
        repaired_ms: time in ms from the failure until all watched pairs were heard again; None if never.
        controller_converged_ms: time in ms from the failure until the controller's new plan was in place.
        pairs_watched: pairs of hosts that were probed every `probe_interval_ms`.
        pairs_affected: pairs whose minimal path crosses a failed element and that are not cut off.
        cpu_stolen_ms: processor time in ms that this virtual machine wanted and did not get.
        restored: whether all pairs took their first paths again at the end.
        negative: what should not have happened, a sentence; None if all went well.
        interrupted: whether the failover was ended early; the distributions leave it out.
    """

    seed: int
    failed: str
    gap_ms: float
    packets_sent: int
    packets_lost: int
    lost_at_restore: int
    silence_before_ms: float
    repaired_by: str
    repaired_ms: float | None
    controller_converged_ms: float | None
    pairs_watched: int
    pairs_affected: int
    cpu_stolen_ms: int
    restored: bool | None
    negative: str | None
    interrupted: bool = False

    def cells(self) -> dict[str, str]:
        """Returns the row's cells as text, by column."""
        words = {None: "", True: "yes", False: "no"}
        return {n: words[v] if v is None or isinstance(v, bool) else str(v) for n, v in vars(self).items()}


FAILOVERS = "failovers.csv"
FAILOVER_COLUMNS = tuple(field.name for field in fields(Repetition))


@dataclass(frozen=True, kw_only=True)
class FailoverSeries:
    """Result of several failovers on one fabric, one after another.

    Attributes:
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        routing: name of the routing.
        hosts: p, hosts attached to each router that has any; of a graph with hosts of its own (`--from`,
            networkx), the factor of their numbers.
        local_repair: whether switches have backup paths.
        fail: elements that fail, as asked for; None for the link that most minimal paths cross.
        kill_controller: whether the controller was killed in every failover.
        asked: number of failovers that were asked for.
        seeds: seeds of those that were measured completely.
        probe_interval_ms: time between two probes of a watched pair in ms.
        gap_ms: of each complete failover, the longest time in ms between two arrivals of a watched pair while
            the failure stood; None, like the other distributions, if no failover was complete.
        silence_before_ms: the same before the failure, which shows the noise.
        packets_lost: probes of each failover that never arrived.
        lost_at_restore: of these, probes that were sent after the restoration.
        repaired_ms: time in ms from the failure until all watched pairs were heard again; None if never in
            any failover.
        controller_converged_ms: time in ms from the failure until the controller's new plan was in place.
        packets_sent: probes that were sent in all complete failovers.
        repaired_by: number of complete failovers by the part of the fabric that repaired them.
        failovers: the failovers one by one, an interrupted one as well.
        interrupted: whether the series was ended early.
        negative: what should not have happened, a sentence; None if all went well.
        format: version of this record's meaning.
    """

    name: str
    params: Mapping[str, Value]
    routing: str
    hosts: int
    local_repair: bool
    fail: str | None
    kill_controller: bool
    asked: int
    seeds: tuple[int, ...]
    probe_interval_ms: float
    gap_ms: Distribution | None
    silence_before_ms: Distribution | None
    packets_lost: Distribution | None
    lost_at_restore: Distribution | None
    repaired_ms: Distribution | None
    controller_converged_ms: Distribution | None
    packets_sent: int
    repaired_by: Mapping[str, int]
    failovers: tuple[Repetition, ...]
    interrupted: bool = False
    negative: str | None = None
    format: int = FORMAT

    def __post_init__(self) -> None:
        check_seeds(self.seeds)

    def distributions(self) -> dict[str, Distribution]:
        """Returns the distributions by their keys, without those that have no value."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Distribution)}
