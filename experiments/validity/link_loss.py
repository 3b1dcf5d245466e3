"""Tests the random loss of links: whether chance explains its difference from the configured loss."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# False alarm rate for correct links: half of it for the worst link, half for the sum of all.
MAX_CHANCE = 1e-4
# A smaller relative error does not distort results, even if chance does not explain it.
_MIN_ERROR = 1 / 20


class LinkLoss(NamedTuple):
    """Frames of a directed link, by the counters of its netem and of the queue behind it.

    Attributes:
        link: name of the link, like `s3-s7`.
        lost: frames that its netem lost.
        passed: frames that its netem passed on: sent, or dropped by the queue.
    """

    link: str
    lost: int
    passed: int

    @property
    def frames(self) -> int:
        """The number of frames that entered the link: lost and passed."""
        return self.lost + self.passed


def link_loss_doubt(asked: float, links: Sequence[LinkLoss]) -> str | None:
    """Tests whether links lose the configured share of frames.

    The worst of many links may be far off by chance. The threshold of its p-value is therefore divided by the
    number of links (Bonferroni correction).

    Args:
        asked: share that every link should lose, over 0 and below 1.
        links: their lost and passed frames.

    Returns:
        A sentence about the link with the wrong loss, or about all links if their total loss is wrong. None
        if chance explains the differences, or none of them exceeds a twentieth of `asked`.
    """
    seen = [link for link in links if link.frames]
    if not seen:
        return None
    worst = min(seen, key=lambda link: chance_of_loss(asked, link))
    if _is_off(asked, worst, MAX_CHANCE / 2 / len(seen)):
        return f"{_lost(f'link {worst.link}', asked, worst)}, the worst of {len(seen)} links"
    total = LinkLoss("", sum(link.lost for link in seen), sum(link.passed for link in seen))
    if _is_off(asked, total, MAX_CHANCE / 2):
        return _lost(f"the {len(seen)} links", asked, total)
    return None


def chance_of_loss(asked: float, loss: LinkLoss) -> float:
    """Returns the two-sided p-value of a number of lost frames under the binomial distribution.

    Args:
        asked: expected share of lost frames, over 0 and below 1.
        loss: the frames, at least one.

    Returns:
        Twice the tail on the side of the observed share, at most 1.
    """
    if loss.lost >= asked * loss.frames:
        return min(1.0, 2 * _upper_tail(loss.lost, loss.frames, asked))
    return min(1.0, 2 * _upper_tail(loss.passed, loss.frames, 1 - asked))


def _is_off(asked: float, loss: LinkLoss, max_chance: float) -> bool:
    far = abs(loss.lost / loss.frames - asked) > asked * _MIN_ERROR
    return far and chance_of_loss(asked, loss) < max_chance


def _lost(whose: str, asked: float, loss: LinkLoss) -> str:
    return (
        f"by netem's counters, {whose} lost {loss.lost / loss.frames:.3%} of {loss.frames} packets; "
        f"--link-loss asks for {asked:.3%}"
    )


def _upper_tail(count: int, frames: int, share: float) -> float:
    """Returns the probability that a binomial number is `count` or more; `count` is at least the mean.

    Args:
        count: the number.
        frames: number of trials.
        share: probability of success in each trial.
    """
    log_term = math.lgamma(frames + 1) - math.lgamma(count + 1) - math.lgamma(frames - count + 1)
    log_term += count * math.log(share) + (frames - count) * math.log1p(-share)
    term = tail = math.exp(log_term)
    odds = share / (1 - share)
    while count < frames and term > tail * 1e-12:
        term *= (frames - count) / (count + 1) * odds
        count += 1
        tail += term
    return tail
