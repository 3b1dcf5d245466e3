"""Adaptive routing on a trunked dragonfly whose groups all send to the next one, with real packets."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rows import Row

import polarlab

_LEAST_RATIO = 2.0
_MINIMAL, _ADAPTIVE = "hierarchical", "ugal:over=hierarchical"


def adversarial() -> list[Row]:
    """The accepted load of UGAL over hierarchical paths, against hierarchical paths alone, under adv:1."""
    accepted: dict[str, float] = {}
    valid: dict[str, bool] = {}
    with tempfile.TemporaryDirectory() as folder:
        for routing in (_MINIMAL, _ADAPTIVE):
            run = polarlab.run(
                "dragonfly",
                a=8,
                h=4,
                trunking=4,
                hosts=4,
                routing=routing,
                pattern="adv:1",
                load=0.5,
                link_rate="200kbit",
                duration=10,
                out=Path(folder) / routing.partition(":")[0],
            )
            assert isinstance(run, polarlab.Run)
            assert run.summary.accepted is not None
            accepted[routing], valid[routing] = run.summary.accepted, run.summary.fidelity.valid
    ratio = accepted[_ADAPTIVE] / accepted[_MINIMAL]
    words = ", ".join(f"{name} {'valid' if ok else 'not valid'}" for name, ok in valid.items())
    return [
        Row(
            "dragonfly 8/4/9 with trunking 4, 4 hosts a router, adv:1 at 0.5, real packets: accepted under "
            f"`{_ADAPTIVE}`",
            f"`{_MINIMAL}`: {accepted[_MINIMAL]:.3f}",
            f"{accepted[_ADAPTIVE]:.3f}, {ratio:.1f} times ({words})",
            f"at least {_LEAST_RATIO:g} times",
            ratio >= _LEAST_RATIO,
        )
    ]
