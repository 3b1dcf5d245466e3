"""Notices: events of which nobody needs more than the text, all of which are in one table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.events.base import Event, time_left


@dataclass(init=False)
class Notice(Event):
    """Event whose text is made of its values.

    Attributes:
        key: its key in `TEXTS`.
        values: the values, by their names in the text.
    """

    key: str
    values: Mapping[str, Any]

    def __init__(self, key: str, /, **values: Any) -> None:
        """Takes the key and the values."""
        self.key, self.values = key, values

    def __str__(self) -> str:
        text = TEXTS[self.key]
        return text.format(**self.values) if isinstance(text, str) else text(**self.values)


def _figures(paths: Sequence[Path]) -> str:
    """Returns the text on figures, each of which is drawn as PNG and SVG."""
    names = (f"{path}, {path.with_suffix('.svg').name}" for path in paths if path.suffix == ".png")
    return f"drawn: {'; '.join(names)}"


def _simulation(pattern: str, load: float, warmup: int | None, window: int) -> str:
    """Returns the text on simulated traffic; without a warm-up, it ends when the state is steady."""
    words = "a warm-up until the state is steady" if warmup is None else f"{warmup:,} cycles"
    return f"{pattern} traffic at {load:g}: {words}, then {window:,} cycles measured"


def _load(load: float, accepted: float, latency_cycles: float | None, stable: bool) -> str:
    """Returns the text on a load of a search for saturation."""
    latency = "-" if latency_cycles is None else f"{latency_cycles:.1f} cycles"
    return (
        f"load {load:g}: {'stable' if stable else 'not stable'}, accepted {accepted:.4f}, "
        f"mean latency {latency}"
    )


def _unstable(accepted: float, offered: float, latency_cycles: float | None) -> str:
    latency = "-" if latency_cycles is None else f"{latency_cycles:.0f} cycles"
    return f"not stable: accepted {accepted:.4f} of {offered:.4f} offered, mean latency {latency}"


def _dropped(packets: Mapping[str, int]) -> str:
    hosts = ", ".join(f"{host} {number}" for host, number in packets.items())
    return f"packets that hosts may not send were dropped at their switches' ports: {hosts}"


TEXTS: Mapping[str, str | Callable[..., str]] = {
    # A fabric comes up, is checked, and is taken down.
    "emulation-step": "{description}",
    "plan-proven": (
        "plan proven: {pairs} pairs of hosts, at most {max_hops} hops, {rules} rules, {groups} groups"
    ),
    "plan-installed": "all switches hold their rules, {seconds:.1f} s after the start",
    "queues-unreadable": (
        "the queues cannot be read over netlink ({reason}); the routing adapts by port statistics"
    ),
    "pair-check-started": "sending one probe for each of {pairs} pairs of hosts",
    "pair-check-passed": "all pairs delivered, within the routing's bounds (at most {max_hops} hops)",
    "fabric-down": "taking the fabric down",
    "controller-warning": "the controller warns: {warning}",
    "ingress-drops": _dropped,
    # Traffic and its faults.
    "rate-tried": lambda rate_bps, strain: (
        f"calibrating: at {rate_bps / 1e6:g} Mbit/s the worst measure of validity is at {strain:.0%} of "
        "its bound"
    ),
    "rate-chosen": lambda rate_bps: f"links of {rate_bps / 1e6:g} Mbit/s",
    "replication-started": "seed {seed}, run {number} of {replications}",
    "flows-started": "{flows} flows ({sizes}, {pattern}, {tcp}), at most {seconds:g} s",
    "faults-drawn": "drawn from {asked} with seed {seed}: {failures} failures, {repairs} repairs",
    "faults-not-reached": "{missed} of the {faults} faults were to come after the traffic's end",
    # A user's own programs.
    "server-not-listening": "`{line}` does not listen yet; the other programs start without it",
    "server-ended": "`{line}` ended before the other programs started, with status {status}{last}",
    "programs-started": lambda programs: (
        "1 program started" if programs == 1 else f"{programs} programs started"
    ),
    "program-failed": "{failure}",
    # Sweeps and failovers.
    "sweep-resumed": "{folder} holds {measured} points; {missing} of those asked for are missing",
    "sweep-interrupted": "{folder} holds {points} points; the same command goes on with the other {missing}",
    "routing-started": "routing {routing}: {summary}",
    "point-started": lambda number, points, name, seconds_left=None: (
        f"point {number} of {points}: {name}{time_left(seconds_left)}"
    ),
    "failover-started": "{seconds:g} s of probes; {failing} fails after {fail_s:g} s",
    "failover-repeated": lambda seed, number, failovers, seconds_left=None: (
        f"seed {seed}, failover {number} of {failovers}{time_left(seconds_left)}"
    ),
    "failover-ended": "{failed}: longest silence {gap_ms:g} ms, {lost} probes lost",
    "failover-interrupted": "interrupted before the failure of {failed}",
    # Results.
    "results-not-written": "the result could not be written in full; it was {summary}",
    "result-invalid": "result not valid: {reason}{remedy}",
    "result-negative": "negative result: {reason}",
    "points-invalid": "{invalid} of {points} points are not valid; {folder}/points has the reasons{remedy}",
    "figures-drawn": _figures,
    # The prompt, and what ends by itself.
    "prompt-opened": "the prompt: `help` lists its commands, `exit` takes the fabric down",
    "command-failed": lambda line, status, reason: (
        f"`{line}` failed" + (f": {reason}" if reason else f" with status {status}")
    ),
    "program-ended": "`{command}` of {node} (process {pid}) has ended",
    "shell-renewed": "the shell of {node} has ended and was started again; {node} keeps its interfaces",
    "plan-awaited": "the measurement waits for the controller, whose plan is not yet right for {elements}",
    "traffic-ended": "background traffic has ended: {reason}",
    "traffic-stopped": (
        "background traffic has ended with the session: {outcome.pattern} at {outcome.load:g} for "
        "{outcome.seconds:.1f} s, {outcome.received_packets} of {outcome.sent_packets} packets arrived"
    ),
    # Simulations.
    "tables-compiled": (
        "{rules} rules of {routers} routers with {hosts} hosts planned and compiled in {seconds:.1f} s"
    ),
    "kernels-compiled": "the simulator is compiled, which takes some 10 s the first time",
    "credits-too-few": (
        "one virtual channel cannot use a whole link: its buffer must be {needed_flits} flits to cover the "
        "way of a packet and of its credits, got {buffer_flits}; raise --buffer-flits"
    ),
    "parameters-unused": lambda routing, names: (
        f"parameters of {routing} that a decision for every packet does not have: {', '.join(names)}"
    ),
    "routes-proven": "plan proven: {pairs} pairs of routers, at most {max_hops} hops",
    "plan-not-proven": (
        "the plan of {routers} routers is not proven before it is simulated, as those of up to {most} are; "
        "`polarlab verify` proves it"
    ),
    "channels-shared": (
        "rerouted packets may take {hops} hops: those beyond hop {channels} share its virtual channel, and "
        "could come to a deadlock; --virtual-channels {hops} rules that out"
    ),
    "fabric-changed": "cycle {cycle:,}: {what}",
    "simulation-started": _simulation,
    "application-started": "{pattern}: {messages:,} messages{size}",
    "application-completed": lambda pattern, size, cycles, ideal_cycles: (
        f"{pattern}{size}: {cycles:,.0f} cycles, {cycles / max(1, ideal_cycles):.3f} times the ideal"
    ),
    "simulation-unstable": _unstable,
    "intervals-unknown": lambda window, names: (
        f"no 95 % intervals of {', '.join(names)}: neighbouring parts of the window of {window:,} cycles "
        "depend on one another; raise --cycles, or give --repeat"
    ),
    "load-tried": _load,
    "point-compared": "{routing} under {pattern} at {load:g} simulated",
    "point-deadlocked": "{name}: {reason}",
    "cluster-reached": "{scheduler}: {workers} workers with {threads} threads in all",
    "crosscheck-not-kept": "the cross-check is printed, but not kept for figures: {reason}; try sudo",
    # Papers.
    "item-begun": "item {number} of {items}, {paper} {item}: {title}",
}
