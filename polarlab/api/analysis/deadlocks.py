"""Proofs of deadlock freedom: their requests, records, certificates and figures."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emulation.requirements import available_memory_bytes
from experiments.spec.values import check_choice
from polarlab.api.arguments import checked_plan
from routing.deadlock.channels import MAX_VIRTUAL_CHANNELS
from routing.deadlock.proof import DeadlockProof, proof_bytes
from routing.deadlock.proof import prove_deadlock_freedom as prove_scenarios
from routing.plan.model import RoutePlan
from topology.base import Topology
from topology.errors import MachineError, ParameterError, UsageError
from topology.failures import SCENARIOS
from topology.files.writing import check_new, write_new

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ONE = "one"
_CERTIFICATE = ".csv"


def virtual_channels_of(text: str) -> int:
    """Returns the number of virtual channels that a text names.

    Args:
        text: `one`, or `hop:N` for N virtual channels, which packets change at each hop.

    Raises:
        ParameterError: the text is something else.
    """
    if text == ONE:
        return 1
    named = re.fullmatch(r"hop:([0-9]{1,4})", text) if isinstance(text, str) else None
    if named and 1 <= int(named[1]) <= MAX_VIRTUAL_CHANNELS:
        return int(named[1])
    raise ParameterError(
        f"virtual-channels must be one, or hop:N with N from 1 to {MAX_VIRTUAL_CHANNELS}, got {text!r}"
    )


def prove_deadlock_freedom(
    plan: RoutePlan, virtual_channels: str = ONE, failures: str = "none", *, layers: bool = False
) -> DeadlockProof:
    """Proves that the channel dependencies are acyclic, or returns a shortest cycle.

    Args:
        plan: plan of all switches.
        virtual_channels: `one`, or `hop:N`: hop h of a packet, from 1, uses virtual channel min(h, N) - 1.
        failures: single failures to check, in addition to the intact fabric: `none`, `links` or `switches`.
        layers: whether to count the acyclic layers into which the paths of all pairs can be divided; only
            for routings with one path per pair.

    Raises:
        UsageError: layers are requested together with failures, or for a routing with several paths per pair.
        ParameterError: `virtual_channels`, `failures` or `layers` is outside its domain.
        MachineError: the proof needs more memory than is free.

    Examples:
        >>> graph = topology("polarfly", q=3)
        >>> proof = prove_deadlock_freedom(plan(graph))
        >>> proof.acyclic, len(proof.cycle), proof.channels_by_hop
        (False, 5, 2)
        >>> prove_deadlock_freedom(plan(graph, "up-down")).acyclic
        True
    """
    plan = checked_plan(plan)
    if not isinstance(failures, str):
        raise ParameterError(f"failures must be one of {', '.join(SCENARIOS)}, got {failures!r}")
    check_choice("failures", failures, SCENARIOS)
    if not isinstance(layers, bool):
        raise ParameterError(f"layers must be True or False, got {layers!r}")
    if layers and failures != "none":
        raise UsageError(f"failures must be none for layers, which need one set of paths, got {failures}")
    number = virtual_channels_of(virtual_channels)
    needed, available = proof_bytes(plan), available_memory_bytes()
    if needed > available:
        raise MachineError(
            f"the proof of {plan.topology.routers} routers under {plan.routing} needs about "
            f"{needed / 2**30:.1f} GiB of memory, but {available / 2**30:.1f} GiB are free; try a smaller "
            "fabric, or fewer intermediates of the routing"
        )
    return prove_scenarios(plan, number, SCENARIOS[failures](plan.topology), layers=layers)


def deadlock_record(proof: DeadlockProof) -> dict[str, Any]:
    """Returns a proof as the JSON record of `polarlab verify --deadlock`.

    Args:
        proof: the proof.
    """
    return {
        "acyclic": proof.acyclic,
        "channels": proof.channels,
        "dependencies": proof.dependencies,
        "virtual_channels": proof.virtual_channels,
        "cycle": [
            {
                "link": one.channel.link,
                "virtual_channel": one.channel.virtual,
                "source": one.source.name,
                "destination": one.destination.name,
            }
            for one in proof.cycle
        ],
        "channels_by_hop": proof.channels_by_hop,
        "layers": proof.layers,
        "scenarios": proof.scenarios,
        "failure": proof.failure,
        "failures_with_circles": list(proof.failures_with_circles),
    }


def check_certificate(path: Path, failures: str) -> None:
    """Raises UsageError unless the certificate of a proof with these `failures` can be written to `path`."""
    if failures != "none":
        raise UsageError(
            f"failures must be none for a certificate, which needs one set of paths, got {failures}"
        )
    if path.suffix != _CERTIFICATE:
        raise UsageError(f"certificate must end in {_CERTIFICATE}, got {path}")
    check_new(path)


def write_certificate(proof: DeadlockProof, path: Path) -> None:
    """Writes the order of the channels as a new CSV file: link, port, virtual_channel, rank.

    A link is written as `s1-s7`, the sending switch first. The port, on the sending switch,
    distinguishes parallel links.

    Args:
        proof: an acyclic proof without failures.
        path: the file.

    Raises:
        UsageError: the proof has no certificate, or the file exists.
        OSError: the file cannot be written.
    """
    if proof.ranks is None:
        raise UsageError("a certificate needs an acyclic proof without failures")
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("link", "port", "virtual_channel", "rank"))
    for number, rank in enumerate(proof.ranks.tolist()):
        channel = proof.numbering.channel(number)
        writer.writerow((channel.link, proof.numbering.port(number), channel.virtual, rank))
    write_new(path, text.getvalue().encode())


def draw_cycle(topology: Topology, proof: DeadlockProof, path: Path | None = None) -> Figure:
    """Draws the cycle of a proof on its fabric, and saves the drawing if a file is given.

    Args:
        topology: the graph.
        proof: a proof with a cycle.
        path: the file, .png, .svg or .pdf; None for no file.

    Raises:
        UsageError: the file's extension is not supported, or the file exists.
        OSError: the file cannot be written.
    """
    from experiments.figures.cycle import cycle_figure
    from experiments.figures.style import check_figure, save_new_figure

    format_ = check_figure(path) if path is not None else ""
    figure = cycle_figure(topology, [one.channel for one in proof.cycle])
    if path is not None:
        save_new_figure(figure, path, format_)
    return figure
