"""A host's root puts frames into its own interface: none counts, and the run says so."""

import contextlib
import shlex
from pathlib import Path

import pytest
from conftest import eventually

import polarlab

pytestmark = [pytest.mark.fabric, pytest.mark.xdist_group("made-up")]

PYTHON = "/usr/bin/python3"
ATTACKS = Path(__file__).with_name("frame_attacks.py")


@pytest.fixture(scope="module")
def fabric(tmp_path_factory):
    """ER_2 with links that drop some of what perm2hop sends at a high load."""
    with (
        contextlib.chdir(tmp_path_factory.mktemp("made-up")),
        polarlab.Fabric("polarfly", q=2, link_rate="500kbit", routing="min") as up,
    ):
        yield up


def lied(fabric, lie, **traffic):
    """Runs traffic while a host lies; returns the summary and the number of frames that the host made."""
    words = [PYTHON, "-c", ATTACKS.read_text(), lie, "h4_1-eth0"]
    program = fabric.host("h4_1").start(shlex.join(words))
    eventually(lambda: "ready" in program.output or not program.running)
    assert program.running, program.stop()
    with pytest.raises(polarlab.NegativeResult, match="damaged"):
        fabric.traffic(out=lie, **traffic)
    result = program.stop()
    made = int(result.output.split()[-2])
    assert made > 4
    return polarlab.Run(Path(lie)).summary, made


@pytest.mark.parametrize("lie", ["lost", "sooner", "copy"])
def test_probes_that_a_host_makes_up_do_not_count(fabric, lie):
    summary, made = lied(fabric, lie, pattern="perm2hop", load=0.9, warmup=0.3, duration=3)
    assert summary.packets.damaged >= 0.9 * made
    assert not summary.fidelity.valid
    assert any("forged" in reason for reason in summary.fidelity.reasons)
    if lie == "lost":
        assert summary.loss > 0.05


def test_segments_that_no_rank_has_sent_do_not_count(fabric):
    summary, made = lied(fabric, "unknown", pattern="all-to-all", message_bytes="112KiB", iterations=2)
    assert summary.packets.damaged >= 0.9 * made
    assert any("forged" in reason for reason in summary.fidelity.reasons)
    assert summary.collective.wrong_results == 0
