"""Typed results of failover demonstrations, key by key: `summary.json` is FailoverSummary as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from experiments.codec import FORMAT
from experiments.results.parts.faults import FaultRecord

# From so much stolen processor time on, losses may be the machine's: on ER_5, runs with 80 ms and 1,870 ms
# lost probes, and none with less.
DISTURBED_FROM_MS = 50


@dataclass(frozen=True)
class Phase:
    """Probes that were sent before the failure, while it stood, or after it was repaired.

    Attributes:
        sent, lost: probes of all pairs.
        longest_silence_ms: longest time between two arrivals of a watched pair.
        hops_mean, hops_max: hops of the watched pairs' probes; None if none arrived.
    """

    sent: int
    lost: int
    longest_silence_ms: float
    hops_mean: float | None
    hops_max: int | None


@dataclass(frozen=True)
class Phases:
    """Phases of a demonstration: before the failure, while it stands, after its repair."""

    before: Phase
    failed: Phase
    restored: Phase


@dataclass(frozen=True, kw_only=True)
class FailoverSummary:
    """Result of a failover demonstration.

    Attributes:
        name, params: topology.
        routing: name of the routing.
        hosts: hosts attached to each router.
        local_repair: whether switches have backup paths.
        failed: names of the elements that failed.
        pairs_watched: pairs of hosts that were probed every `probe_interval_ms`.
        packets_sent, packets_lost: probes of the whole demonstration.
        gap_ms: longest silence of a watched pair while the failure stood.
        probe_interval_ms: time between two probes of a watched pair.
        all_pairs_interval_ms: time between two probes of every other pair.
        repaired_by: `switches`, `controller`, `nobody` or `nothing was broken`.
        repaired_ms: time from the failure until all watched pairs were heard again; None if never.
        controller_converged_ms: time from the failure until the controller's new plan was in place.
        cut_off_pairs: pairs of routers without any path while the failure stood.
        silent_pairs: watched pairs that were still silent at the end of the failure.
        faults: faults injected, and the controller's plans.
        lost_at_restore: probes lost after the repair.
        phases: counts by phase.
        pairs_affected: pairs whose minimal path crosses a failed element and that are not cut off.
        cpu_stolen_ms: processor time that a virtual machine did not get.
        generator_lag_ms_p99: lateness of the sender, 99th percentile in ms.
        interrupted: whether the demonstration was ended early.
        restored: whether all pairs took their first paths again at the end; None if that was not checked.
        negative: what should not have happened, a sentence; None if all went well.
        format: version of this record's meaning.
    """

    name: str
    params: Mapping[str, int | str]
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
