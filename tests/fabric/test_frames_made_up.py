"""A host's root makes up measured frames: none counts, and those that cross the fabric are told."""

import contextlib
import shlex
from pathlib import Path

import pytest
from conftest import eventually

import polarlab

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("made-up")]

PYTHON = "/usr/bin/python3"
ATTACKS = Path(__file__).with_name("frame_attacks.py")
PROBES = {"pattern": "perm2hop", "warmup": 0.3, "duration": 3}
SEGMENTS = {"pattern": "all-to-all", "message_bytes": "112KiB", "iterations": 2}


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_2 with links that drop some of what perm2hop sends at a high load."""
    with (
        contextlib.chdir(tmp_path_factory.mktemp("made-up")),
        polarlab.Fabric("polarfly", q=2, link_rate="500kbit", routing="min") as up,
    ):
        yield up


@contextlib.contextmanager
def lying(fabric, way, lie):
    """Lets a host lie during the block; yields a list that then holds the number of frames that it made."""
    words = [PYTHON, "-c", ATTACKS.read_text(), way, lie, "h4_1-eth0"]
    program = fabric.host("h4_1").start(shlex.join(words))
    eventually(lambda: "ready" in program.output or not program.running)
    assert program.running, program.stop()
    made = []
    yield made
    made.append(int(program.stop().output.split()[-2]))
    assert made[0] > 4


@pytest.mark.parametrize("lie", ["lost", "sooner", "copy"])
def test_what_a_host_puts_into_its_own_interface_is_not_even_seen(fabric, lie):
    with lying(fabric, "in", lie):
        run = fabric.traffic(out=lie, load=0.9, **PROBES)
    assert run.summary.fidelity.valid
    assert run.summary.packets.damaged == 0
    assert run.summary.loss > 0.05


def test_segments_that_a_host_puts_into_its_own_interface_are_not_seen(fabric):
    with lying(fabric, "in", "unknown"):
        run = fabric.traffic(out="segments", **SEGMENTS)
    assert (run.summary.packets.damaged, run.summary.collective.wrong_results) == (0, 0)


@pytest.mark.parametrize(
    ("lie", "traffic"),
    [("sooner", {"load": 0.3, **PROBES}), ("copy", {"load": 0.3, **PROBES}), ("unknown", SEGMENTS)],
)
def test_made_up_frames_that_cross_the_fabric_do_not_count(fabric, lie, traffic):
    with lying(fabric, "out", lie) as made, pytest.raises(polarlab.NegativeResult, match="damaged"):
        fabric.traffic(out=f"{lie} out", **traffic)
    summary = polarlab.Run(Path(f"{lie} out")).summary
    assert made[0] // 2 < summary.packets.damaged <= made[0]
    assert any("forged" in reason for reason in summary.fidelity.reasons)
    assert summary.loss < 0.5
