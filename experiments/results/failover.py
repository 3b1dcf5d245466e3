"""Typed results of failover demonstrations, key by key.

`summary.json` is a FailoverSummary or, for several failovers, a FailoverSeries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

from experiments.codec import FORMAT, omitted
from experiments.results.parts.faults import FaultRecord
from experiments.results.parts.replications import Interval, check_seeds
from experiments.results.tables import csv_cell
from topology.parameters import Value

# With this steal time or more, losses may be the machine's fault: on ER_5, the only runs that lost probes had
# steal times of 80 ms and 1,870 ms.
DISTURBED_FROM_MS = 50


@dataclass(frozen=True)
class Phase:
    """Probes that were sent before the failure, during it, or after the restoration.

    Attributes:
        sent: probes sent in the phase, of watched pairs and of all pairs.
        lost: probes sent in the phase that never arrived.
        longest_silence_ms: longest time in ms between successive arrivals of a watched pair's probes.
        hops_mean: mean number of links between routers that watched pairs' probes took; None if none arrived.
        hops_max: largest number of links that such a probe took; None if none arrived.
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
        failed: during the failure.
        restored: after the restoration.
    """

    before: Phase
    failed: Phase
    restored: Phase


@dataclass(frozen=True)
class ControllerRestart:
    """Times of the steps of a new controller's start; a step that did not happen is None.

    Attributes:
        began_ms: time in ms from the failure to the start; the other times count from the start.
        listening_ms: time in ms until the controller had proven its plan and listened for switches.
        connected_ms: time in ms until the last working switch had connected; switches retry every 1 to 4 s.
        in_charge_ms: time in ms until all switches had the plan, or the controller continued without late
            switches.
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
        hosts: p, the number of hosts attached to each router that has any; for a graph with its own hosts
            (`--from`, networkx), the factor by which their numbers are multiplied.
        local_repair: whether switches have backup paths.
        failed: names of the failed links and switches, including the controller.
        pairs_watched: number of pairs of hosts that were probed every `probe_interval_ms`.
        packets_sent: probes that were sent in the whole demonstration.
        packets_lost: probes that never arrived.
        gap_ms: longest silence of a watched pair during the failure, in ms. The silence of a pair is the
            largest difference between successive times of these events: start of the failure, arrivals of
            probes that were sent during the failure, and its end (or the last observation, if the
            demonstration was interrupted). About `probe_interval_ms` if nothing is lost.
        probe_interval_ms: time between two probes of a watched pair in ms.
        all_pairs_interval_ms: length in ms of a round, in which all pairs are probed once, one by one.
        repaired_by: `switches`, `controller`, `nobody` or `nothing was broken`.
        repaired_ms: time in ms from the failure until probes of all watched pairs arrived again; 0 if no
            probe was lost, None if they never arrived again.
        controller_converged_ms: time in ms from the failure until the controller's new plan was installed;
            None if there was none. A killed controller restarts 800 ms after the failure, and switches
            reconnect after 1 to 4 s.
        controller_restart: steps of that restart; absent if the controller was not killed.
        cut_off_pairs: ordered pairs of working routers without any path during the failure.
        silent_pairs: watched pairs that lost all probes of the last half second of the failure.
        faults: injected faults, and the controller's plans.
        lost_at_restore: probes sent after the restoration that never arrived.
        phases: counts by phase.
        pairs_affected: pairs whose minimal path crosses a failed link or switch and that are not cut off.
        cpu_stolen_ms: steal time in ms: CPU time that this virtual machine needed and did not get.
        generator_lag_ms_p99: 99th percentile of the delay of probes behind their schedule, in ms.
        interrupted: whether the demonstration ended early.
        restored: whether all pairs used their original paths again at the end; None if that was not checked.
        negative: description of the problem, a sentence; None if all went well.
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
            troubles: problems during the demonstration or at its end, one sentence each.
        """
        if troubles:
            return troubles[0]
        if self.silent_pairs:
            return f"{self.silent_pairs} connected pairs were silent until the restoration"
        lost = self.lost_at_restore if self.pairs_affected else self.packets_lost
        if not lost:
            return None
        text = f"{lost} probes were lost while no link or switch had failed"
        if self.cpu_stolen_ms >= DISTURBED_FROM_MS:
            text += f"; steal time {self.cpu_stolen_ms} ms"
        return text


@dataclass(frozen=True, kw_only=True)
class Distribution(Interval):
    """Distribution of a value over failovers.

    Attributes:
        missing: number of failovers without the value, because its event never happened.
        p50: median, by linear interpolation.
        p90: quantile of 90 %, by linear interpolation.
        p99: quantile of 99 %, by linear interpolation; for few values, it is near the maximum.
        p50_ci95: limits of the distribution-free 95 % confidence interval of the median; each limit is one
            of the values; None for fewer than six values.
        max: maximum.
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
        failed: comma-separated names of the failed links and switches, including the controller.
        gap_ms: longest silence of a watched pair during the failure, in ms.
        packets_sent: probes that were sent in the failover.
        packets_lost: probes that never arrived.
        lost_at_restore: probes sent after the restoration that never arrived.
        silence_before_ms: longest silence of a watched pair before the failure, in ms; shows the noise.
        repaired_by: `switches`, `controller`, `nobody` or `nothing was broken`.
        repaired_ms: time in ms from the failure until probes of all watched pairs arrived again, if ever.
        controller_converged_ms: time in ms from the failure until the controller's new plan was installed.
        pairs_watched: number of pairs of hosts that were probed every `probe_interval_ms`.
        pairs_affected: pairs whose minimal path crosses a failed link or switch and that are not cut off.
        cpu_stolen_ms: steal time in ms: CPU time that this virtual machine needed and did not get.
        restored: whether all pairs used their original paths again at the end.
        negative: description of the problem, a sentence; None if all went well.
        interrupted: whether the failover ended early; distributions exclude it.
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
        """Returns column -> text of the row's cell."""
        return {name: csv_cell(value) for name, value in vars(self).items()}


FAILOVERS = "failovers.csv"
FAILOVER_COLUMNS = tuple(field.name for field in fields(Repetition))


@dataclass(frozen=True, kw_only=True)
class FailoverSeries:
    """Result of several failovers on one fabric, one after another.

    Attributes:
        name: family of the topology, as on the command line.
        params: parameters of the topology.
        routing: name of the routing.
        hosts: p, the number of hosts attached to each router that has any; for a graph with its own hosts
            (`--from`, networkx), the factor by which their numbers are multiplied.
        local_repair: whether switches have backup paths.
        fail: requested failures; None for the link on the largest number of minimal paths.
        kill_controller: whether the controller was killed in every failover.
        asked: requested number of failovers.
        seeds: seeds of the complete failovers.
        probe_interval_ms: time between two probes of a watched pair in ms.
        gap_ms: longest silence of a watched pair during the failure, in ms, over complete failovers; None,
            like the other distributions, if no failover was complete.
        silence_before_ms: longest silence of a watched pair before the failure, in ms; shows the noise.
        packets_lost: probes of a failover that never arrived.
        lost_at_restore: probes sent after the restoration that never arrived.
        repaired_ms: time in ms from the failure until probes of all watched pairs arrived again; None if they
            did so in no failover.
        controller_converged_ms: time in ms from the failure until the controller's new plan was installed.
        packets_sent: probes that were sent in all complete failovers.
        repaired_by: `switches`, `controller` etc. -> number of complete failovers that they repaired.
        failovers: all failovers, including an interrupted one.
        interrupted: whether the series ended early.
        negative: description of the problem, a sentence; None if all went well.
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
        """Returns key -> distribution, without those that are None."""
        return {name: value for name, value in vars(self).items() if isinstance(value, Distribution)}
