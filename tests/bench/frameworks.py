"""Controller frameworks side by side: the same fabrics and failures under each, one after the other."""

from __future__ import annotations

import statistics
from dataclasses import replace

from adaptation import controller_share
from failover import replanning_ms, resident_kib
from rows import Row

from controller.openflow.frameworks import FRAMEWORKS
from experiments.controller_process import ControllerProcess
from experiments.events.base import ignore
from experiments.live_fabric import controlled, live_fabric, prepared_network
from experiments.pair_check import check_all_pairs
from experiments.spec.fabric import FabricOptions
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec

_ROUNDS, _FAILURES = 3, 7
_MAX_RATIO = 1.25  # os-ken may take so many times what Ryu takes
_OPTIONS = FabricOptions("polarfly", {"q": 5}, PolarFly(5), 1, "min", LinkSpec(20_000_000, 32))
_CONGESTED = replace(_OPTIONS, hosts=3, links=LinkSpec(300_000, 32), routing="ugal-pf")

Measured = dict[str, list[float]]  # by framework


def compared() -> list[Row]:
    """Bring-up, replanning, adaptation and memory on ER_5, os-ken's against Ryu's."""
    made: list[Measured] = [{name: [] for name in FRAMEWORKS} for _ in range(5)]
    connect, install, replan, share, memory = made
    for _ in range(_ROUNDS):
        for name in FRAMEWORKS:
            with live_fabric(replace(_OPTIONS, framework=name), ignore) as fabric:
                controller = fabric.controller
                connect[name].append(_ms_of_bringup(controller, controller.connected_s))
                install[name].append(_ms_of_bringup(controller, controller.in_charge_s))
                check_all_pairs(fabric, ignore)
                replan[name] += replanning_ms(fabric, _FAILURES)
                memory[name].append(resident_kib(controller.pid) / 1024)
    with prepared_network(_CONGESTED, ignore) as network:
        for _ in range(_ROUNDS):
            for name in FRAMEWORKS:
                with controlled(replace(_CONGESTED, framework=name), network, ignore) as fabric:
                    check = check_all_pairs(fabric, ignore)
                    share[name].append(controller_share(fabric, check, "tornado", 1.0)[0] * 100)
    return [
        _row("ER_5, os-ken: start of the switches until all are connected", connect, "ms", _MAX_RATIO),
        _row("ER_5, os-ken: start of the switches until all rules are installed", install, "ms", _MAX_RATIO),
        _row("ER_5, os-ken: re-plan and installation after a link failure", replan, "ms", _MAX_RATIO),
        _row(
            "ER_5, os-ken: the controller's share of a core, ugal-pf, tornado at 1.0", share, "%", _MAX_RATIO
        ),
        _row("ER_5, os-ken: the controller's resident memory", memory, "MiB", None),
    ]


def _ms_of_bringup(controller: ControllerProcess, moment_s: float | None) -> float:
    """Returns the time from the controller's readiness, when the switches are started, to a later moment."""
    assert controller.listening_s is not None
    assert moment_s is not None
    return (moment_s - controller.listening_s) * 1e3


def _row(what: str, measured: Measured, unit: str, most: float | None) -> Row:
    ryu, os_ken = (statistics.median(measured[name]) for name in ("ryu", "os-ken"))
    ratio = os_ken / ryu
    spread = f"{min(measured['os-ken']):.1f} to {max(measured['os-ken']):.1f} of {len(measured['os-ken'])}"
    return Row(
        what,
        f"Ryu: median {ryu:.1f} {unit}, {min(measured['ryu']):.1f} to {max(measured['ryu']):.1f}",
        f"median {os_ken:.1f} {unit}, {spread}; {ratio:.2f} times Ryu's",
        "-" if most is None else f"at most {most:g} times Ryu's",
        most is None or ratio <= most,
    )
