"""Maintenance without loss: every switch of a fabric drained, switched off and brought back under load."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import dataclass

from rows import Row

from experiments.events.base import ignore
from experiments.fault_injector import FaultSchedule
from experiments.live_fabric import LiveFabric, live_fabric
from experiments.pair_check import check_all_pairs
from experiments.spec.fabric import FabricOptions
from experiments.traffic_jobs import make_job
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_schedule
from topology.links import LinkSpec
from traffic.engine.engine import run_traffic
from traffic.workload.patterns import make_pattern
from traffic.workload.schedule import PatternSchedule

_RATE_BPS, _FRAME_BYTES, _LOAD = 5_000_000, 1000, 0.4
# Open vSwitch calls its controller again some seconds after its start.
_STEPS = "0.5 drain {0}\n1.6 fail switch:{0}\n2.2 restore switch:{0}\n6.8 undrain {0}\n"
_END_NS = 8_000_000_000


@dataclass(frozen=True)
class _Cycle:
    """The maintenance of one switch: packets of other switches' hosts, and the time of each step."""

    sent: int
    lost: int
    drain_ms: float
    undrain_ms: float


def every_switch() -> list[Row]:
    """Packets lost while every switch of ER_3 is drained, switched off and brought back in turn."""
    return [_row(routing) for routing in ("min", "ugal-pf")]


def _row(routing: str) -> Row:
    options = FabricOptions("polarfly", {"q": 3}, PolarFly(3), 1, routing, LinkSpec(_RATE_BPS, 32))
    with live_fabric(options, ignore) as fabric:
        check_all_pairs(fabric, ignore)
        cycles = list(_cycles(fabric))
    sent, lost = sum(cycle.sent for cycle in cycles), sum(cycle.lost for cycle in cycles)
    drains, undrains = ([getattr(c, name) for c in cycles] for name in ("drain_ms", "undrain_ms"))
    return Row(
        f"packets lost while each of {len(cycles)} switches of ER_3 is drained, switched off and brought "
        f"back, uniform load {_LOAD:g}, {routing}",
        "-",
        f"{lost} of {sent:,} packets between hosts of other switches; drained in "
        f"{statistics.median(drains):.0f} ms (longest {max(drains):.0f}), back in use in "
        f"{statistics.median(undrains):.0f} ms "
        f"(longest {max(undrains):.0f})",
        "0",
        lost == 0 and len(cycles) == fabric.options.topology.routers,
    )


def _cycles(fabric: LiveFabric) -> Iterator[_Cycle]:
    """Yields the maintenance of each switch."""
    topology = fabric.options.topology
    per_s = _RATE_BPS / (_FRAME_BYTES * 8)
    pattern = make_pattern("uniform", topology, fabric.options.hosts, 1)
    schedule = PatternSchedule(pattern, _LOAD * per_s, _END_NS, 64, 1, max_packets_per_s=per_s)
    for router in range(topology.routers):
        steps = parse_schedule(_STEPS.format(f"s{router + 1}"), topology)
        job = make_job(fabric, schedule, _FRAME_BYTES, 300 + router, 64, (0, _END_NS))
        with FaultSchedule(fabric, steps, ignore) as player:
            result = run_traffic(job, {}, fabric.network.run_dir, starts=player.start)
        others = [number for number, host in enumerate(fabric.hosts) if host.router != router]
        pairs = tuple([[number] for number in others]), others
        sent, received = (int(frames[pairs].sum()) for frames in (result.sent.frames, result.received.frames))
        drain, *_, undrain = player.done
        yield _Cycle(sent, sent - received, drain.seconds * 1e3, undrain.seconds * 1e3)
