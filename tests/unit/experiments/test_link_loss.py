"""Links that lose the share that was asked for, and those that do not, by the counters of their netem."""

import numpy as np
import pytest

from experiments.validity.link_loss import MAX_CHANCE, LinkLoss, chance_of_loss, link_loss_doubt

FRAMES = 2287


def loss(lost, frames=FRAMES, link="s1-s2"):
    return LinkLoss(link, lost, frames - lost)


@pytest.mark.parametrize(
    ("lost", "told"),
    [(229, None), (200, None), (290, "12.680%"), (165, "7.215%")],
    ids=["10%", "8.7%", "12.7%", "7.2%"],
)
def test_a_link_that_loses_more_or_less_than_it_should_is_named_with_its_share(lost, told):
    doubt = link_loss_doubt(0.1, [loss(lost)])
    if told is None:
        assert doubt is None
    else:
        assert "link s1-s2" in doubt
        assert f"lost {told} of {FRAMES} packets" in doubt
        assert "asks for 10.000%" in doubt


def test_the_bound_follows_the_number_of_links_looked_at():
    """One of 700 links is as far off by chance as one link alone hardly ever is."""
    far = loss(290, link="s8-s9")
    others = [loss(229, link=f"s{number}-s0") for number in range(699)]
    assert link_loss_doubt(0.1, [far]) is not None
    assert link_loss_doubt(0.1, [far, *others]) is None
    farther = link_loss_doubt(0.1, [loss(320, link="s8-s9"), *others])
    assert "link s8-s9" in farther
    assert "the worst of 700 links" in farther


def test_links_that_are_all_a_little_off_are_told_together():
    doubt = link_loss_doubt(0.1, [loss(252, link=f"s{number}-s0") for number in range(40)])
    assert "the 40 links lost 11.019%" in doubt


def test_a_small_error_of_very_many_frames_is_no_reason():
    assert link_loss_doubt(0.1, [loss(101_000, 1_000_000)]) is None
    assert link_loss_doubt(0.1, [loss(0, 0)]) is None
    assert link_loss_doubt(0.1, []) is None


@pytest.mark.parametrize("frames", [1, 3, 20, 150])
@pytest.mark.parametrize("asked", [0.001, 0.1, 0.5, 0.93])
def test_chances_are_those_of_the_binomial_distribution(frames, asked):
    shares = np.array([1.0])
    for _ in range(frames):
        shares = np.convolve(shares, [1 - asked, asked])
    for lost in range(frames + 1):
        tail = shares[lost:].sum() if lost >= asked * frames else shares[: lost + 1].sum()
        expected = min(1.0, 2 * tail)
        assert chance_of_loss(asked, loss(lost, frames)) == pytest.approx(expected, rel=1e-6, abs=1e-13)


def test_links_that_lose_what_they_should_are_hardly_ever_doubted():
    generator = np.random.default_rng(4)
    runs, links = 2000, 100
    frames = generator.integers(1, 400, links).tolist()
    doubts = [
        link_loss_doubt(0.02, [loss(lost, count) for lost, count in zip(row, frames, strict=True)])
        for row in generator.binomial(frames, 0.02, (runs, links)).tolist()
    ]
    assert sum(doubt is not None for doubt in doubts) <= 3 + MAX_CHANCE * runs
