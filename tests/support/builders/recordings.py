"""Recordings of fabrics that never were, for tests of what shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from experiments.observation.description import describe
from experiments.observation.model import FabricState
from experiments.observation.recording import Recording
from experiments.results.link_loads import directed_links
from experiments.spec.settings import FabricSettings
from topology.registry import make_topology


def made_up_recording(name: str, params: Mapping[str, Any], states: int = 50) -> Recording:
    """Returns a recording in which every link has another load at every fifth of a second.

    Args:
        name: family of the topology.
        params: its parameters.
        states: number of states.
    """
    topology = make_topology(name, params)
    count = len(directed_links(topology))
    settings = FabricSettings(
        name=name, params=dict(params), hosts=1, link_rate_bps=2_000_000, queue_packets=32, mtu=1500
    )
    made = tuple(
        FabricState(
            number=number,
            time_s=number / 5,
            load=tuple((number * 7 + at * 3) % 11 / 10 for at in range(count)),
            waiting=tuple((number + at) % 20 for at in range(count)),
            dropped=(0,) * count,
            down=(),
        )
        for number in range(states)
    )
    return Recording(describe(topology, settings, "min", replay="made up"), made, ())
