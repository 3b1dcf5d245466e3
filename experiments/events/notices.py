"""Notices: events that are used only as text; one table has all texts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.events.base import Event, time_left


@dataclass(init=False)
class Notice(Event):
    """Event whose text is formatted from its values.

    Attributes:
        key: its key in `TEXTS`.
        values: name in the text -> value.
    """

    key: str
    values: Mapping[str, Any]

    def __init__(self, key: str, /, **values: Any) -> None:
        """Creates a notice.

        Args:
            key: its key in `TEXTS`.
            values: the values of the placeholders in the text, by name.
        """
        self.key, self.values = key, values

    def __str__(self) -> str:
        text = TEXTS[self.key]
        return text.format(**self.values) if isinstance(text, str) else text(**self.values)


def _figures(paths: Sequence[Path]) -> str:
    # Each figure is drawn as PNG and as SVG: one name for both.
    names = (f"{path}, {path.with_suffix('.svg').name}" for path in paths if path.suffix == ".png")
    return f"drawn: {'; '.join(names)}"


def _simulation(pattern: str, load: float, warmup: int | None, window: int) -> str:
    words = "until steady state" if warmup is None else f"{warmup:,} cycles"
    return f"{pattern} traffic at {load:g}: warm-up {words}, then {window:,} cycles measured"


def _load(load: float, accepted: float, latency_cycles: float | None, stable: bool) -> str:
    latency = "-" if latency_cycles is None else f"{latency_cycles:.1f} cycles"
    return (
        f"load {load:g}: {'stable' if stable else 'not stable'}, accepted {accepted:.4f}, "
        f"mean latency {latency}"
    )


def _unstable(accepted: float, offered: float, latency_cycles: float | None) -> str:
    latency = "-" if latency_cycles is None else f"{latency_cycles:.0f} cycles"
    return f"not stable: accepted {accepted:.4f} of {offered:.4f} offered, mean latency {latency}"


def _compiling(kept: bool) -> str:
    if kept:
        return "compiling the simulator (about 10 s, first run only)"
    return (
        "compiling the simulator (about 10 s, in every run, because its cache folder is not writable; set "
        "NUMBA_CACHE_DIR to one that is)"
    )


def _fault(component: str, restores: bool, maintenance: bool) -> str:
    words = ("is drained", "is used again") if maintenance else ("failed", "is back")
    return f"{component} {words[restores]}"


def _dropped(packets: Mapping[str, int]) -> str:
    hosts = ", ".join(f"{host} {number}" for host, number in packets.items())
    return f"forbidden packets of hosts were dropped at their switches' ports: {hosts}"


TEXTS: Mapping[str, str | Callable[..., str]] = {
    # A fabric is brought up, checked and taken down.
    "emulation-step": "{description}",
    "plan-proven": (
        "plan proven: {pairs} pairs of hosts, at most {max_hops} hops, {rules} rules, {groups} groups"
    ),
    "plan-installed": "all switches have installed their rules, {seconds:.1f} s after the start",
    "queues-unreadable": (
        "the queues cannot be read over netlink ({reason}); the routing uses port statistics instead"
    ),
    "pair-check-started": "sending one probe for each of {pairs} pairs of hosts",
    "pair-check-passed": "all pairs delivered, within the routing's bounds (at most {max_hops} hops)",
    "fabric-down": "taking the fabric down",
    "controller-warning": "the controller warns: {warning}",
    "ingress-drops": _dropped,
    # Traffic and its faults.
    "rate-tried": lambda rate_bps, strain: (
        f"calibrating: at {rate_bps / 1e6:g} Mbit/s the worst measure of validity reaches {strain:.0%} of "
        "its limit"
    ),
    "rate-chosen": lambda rate_bps: f"links of {rate_bps / 1e6:g} Mbit/s",
    "replication-started": "seed {seed}, run {number} of {replications}",
    "flows-started": "{flows} flows ({sizes}, {pattern}, {tcp}), at most {seconds:g} s",
    "faults-drawn": "drawn from {asked} with seed {seed}: {failures} failures, {repairs} repairs",
    "fault-injected": _fault,
    "faults-not-reached": "{missed} of {faults} faults not injected: scheduled after the end of the traffic",
    # A user's own programs.
    "server-not-listening": "`{line}` is not listening yet; the other programs start anyway",
    "server-ended": "`{line}` ended with status {status} before the other programs started{last}",
    "programs-started": lambda programs: (
        "1 program started" if programs == 1 else f"{programs} programs started"
    ),
    "program-failed": "{failure}",
    # Sweeps and failovers.
    "sweep-resumed": "{folder} has {measured} points; {missing} requested points are missing",
    "sweep-interrupted": "{folder} has {points} points; repeat the command for the other {missing}",
    "routing-started": "routing {routing}: {summary}",
    "point-started": lambda number, points, name, seconds_left=None: (
        f"point {number} of {points}: {name}{time_left(seconds_left)}"
    ),
    "failover-started": "{seconds:g} s of probes; {failing} will fail after {fail_s:g} s",
    "failover-repeated": lambda seed, number, failovers, seconds_left=None: (
        f"seed {seed}, failover {number} of {failovers}{time_left(seconds_left)}"
    ),
    "replanned": "{text}",
    "failover-interrupted": "interrupted before the failure of {failed}",
    # Results.
    "results-not-written": "could not write the full result; its summary: {summary}",
    "lost-to-failures": "{losses}",
    "result-invalid": "result not valid: {reason}{remedy}",
    "result-negative": "negative result: {reason}",
    "points-invalid": "{invalid} of {points} points are not valid; see {folder}/points for reasons{remedy}",
    "figures-drawn": _figures,
    # The prompt, and processes that end by themselves.
    "prompt-opened": "the prompt: `help` lists its commands, `exit` takes the fabric down",
    "line-begins": "+ {line}",  # like `set -x` in shells
    "command-failed": lambda line, status, reason: (
        f"`{line}` failed" + (f": {reason}" if reason else f" with status {status}")
    ),
    "program-ended": "`{command}` of {node} (process {pid}) has ended",
    "shell-renewed": "the shell of {node} ended and was restarted; {node} keeps its interfaces",
    "plan-awaited": "waiting for the controller: its plan does not match the state of {elements} yet",
    "traffic-ended": "background traffic has ended: {reason}",
    "traffic-stopped": (
        "background traffic ended with the session: {outcome.pattern} at {outcome.load:g} for "
        "{outcome.seconds:.1f} s, {outcome.received_packets} of {outcome.sent_packets} packets arrived"
    ),
    # Simulations.
    "tables-compiled": (
        "{rules} rules for {routers} routers with {hosts} hosts planned and compiled in {seconds:.1f} s"
    ),
    "kernels-compiled": _compiling,
    "credits-too-few": (
        "one virtual channel alone cannot reach the full link rate: it needs {needed_flits} flits of buffer "
        "(one round trip) but has {buffer_flits}; raise --buffer-flits"
    ),
    "parameters-unused": lambda routing, names: (
        f"this simulation ignores these parameters of {routing}: {', '.join(names)}"
    ),
    "parameters-simulated": lambda routing, names: (
        f"only simulations use these parameters of {routing}: {', '.join(names)}"
    ),
    "routes-proven": "plan proven: {pairs} pairs of routers, at most {max_hops} hops",
    "plan-not-proven": (
        "plan of {routers} routers not proven before the simulation (limit {most}); `polarlab verify` "
        "proves it"
    ),
    "channels-shared": (
        "rerouted packets may take {hops} hops: hops beyond {channels} share a virtual channel and may "
        "deadlock; --virtual-channels {hops} prevents that"
    ),
    "fabric-changed": "cycle {cycle:,}: {what}",
    "simulation-started": _simulation,
    "application-started": "{pattern}: {messages:,} messages{size}",
    "application-completed": lambda pattern, size, cycles, ideal_cycles: (
        f"{pattern}{size}: {cycles:,.0f} cycles, {cycles / max(1, ideal_cycles):.3f} times the ideal"
    ),
    "simulation-unstable": _unstable,
    "intervals-unknown": lambda window, names: (
        f"no 95 % confidence interval of {', '.join(names)}: batch means of {window:,} cycles are "
        "correlated; raise --cycles or give --repeat"
    ),
    "load-tried": _load,
    "point-compared": "{routing} under {pattern} at {load:g}, seed {seed}, simulated",
    "point-deadlocked": "{name}: {reason}",
    "cluster-reached": "{scheduler}: {workers} workers with {threads} threads in total",
    "crosscheck-not-kept": "the cross-check is printed but not saved for figures: {reason}; try sudo",
    # Papers.
    "item-begun": "{number} of {items}, {paper} {item}: {title}",
}
