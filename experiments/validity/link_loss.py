"""Loss of links by the counters of their netem, and whether chance explains how far off it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

# Chance that right links are doubted: half of it for the worst of them, half for their sum.
MOST_CHANCE = 1e-4
# A smaller error, as a share of what was asked for, distorts nothing, even where chance does not explain it.
_LEAST_ERROR = 1 / 20


class LinkLoss(NamedTuple):
    """Frames of a directed link, by the counters of its netem and of the queue behind it.

    Attributes:
        link: name of the link, as `s3-s7`.
        lost: frames that its netem lost.
        passed: frames that its netem did not lose: sent, or dropped by the queue.
    """

    link: str
    lost: int
    passed: int

    @property
    def frames(self) -> int:
        """All of its frames."""
        return self.lost + self.passed


def link_loss_doubt(asked: float, links: Sequence[LinkLoss]) -> str | None:
    """Returns the reason to doubt the loss of links, a sentence that tells whose counter differs.

    Each of many links has a chance of its own to be far off, so that the bound for the worst follows their
    number (Bonferroni).

    Args:
        asked: share that every link should lose, over 0 and below 1.
        links: their lost and passed frames.

    Returns:
        The reason; None where chance explains the differences, or no difference is over a twentieth of
        `asked`.
    """
    seen = [link for link in links if link.frames]
    if not seen:
        return None
    worst = min(seen, key=lambda link: chance_of_loss(asked, link))
    if _is_off(asked, worst, MOST_CHANCE / 2 / len(seen)):
        return f"{_lost(f'link {worst.link}', asked, worst)}, the worst of {len(seen)} links"
    total = LinkLoss("", sum(link.lost for link in seen), sum(link.passed for link in seen))
    if _is_off(asked, total, MOST_CHANCE / 2):
        return _lost(f"the {len(seen)} links", asked, total)
    return None


def chance_of_loss(asked: float, loss: LinkLoss) -> float:
    """Returns the chance that a share of lost frames is at least as far from the one asked for.

    Args:
        asked: share that should be lost, over 0 and below 1.
        loss: frames, at least one.

    Returns:
        Twice the tail of the binomial distribution on the side of the share, 1 at most.
    """
    if loss.lost >= asked * loss.frames:
        return min(1.0, 2 * _upper_tail(loss.lost, loss.frames, asked))
    return min(1.0, 2 * _upper_tail(loss.passed, loss.frames, 1 - asked))


def _is_off(asked: float, loss: LinkLoss, most_chance: float) -> bool:
    far = abs(loss.lost / loss.frames - asked) > asked * _LEAST_ERROR
    return far and chance_of_loss(asked, loss) < most_chance


def _lost(whose: str, asked: float, loss: LinkLoss) -> str:
    return (
        f"by netem's counters {whose} lost {loss.lost / loss.frames:.3%} of {loss.frames} packets; "
        f"--link-loss asks for {asked:.3%}"
    )


def _upper_tail(count: int, frames: int, share: float) -> float:
    """Returns the chance of `count` or more of `frames`, where `count` is not below their mean."""
    log_term = math.lgamma(frames + 1) - math.lgamma(count + 1) - math.lgamma(frames - count + 1)
    log_term += count * math.log(share) + (frames - count) * math.log1p(-share)
    term = tail = math.exp(log_term)
    odds = share / (1 - share)
    while count < frames and term > tail * 1e-12:
        term *= (frames - count) / (count + 1) * odds
        count += 1
        tail += term
    return tail
