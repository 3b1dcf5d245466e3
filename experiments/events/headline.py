"""Headline of a failure: what failed, what was lost, who repaired it, and whether packets arrive again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from experiments.events.base import Event

# Nothing has failed; packets are lost; they take another way; the fabric is as before.
QUIET, BAD, REPAIRED, GOOD = "quiet", "bad", "repaired", "good"
_WORDS = {"link": ("link", "failed"), "switch": ("switch", "failed"), "hang": ("switch", "hung")}
_MAX_NAMED = 3


@dataclass(frozen=True)
class Headline(Event):
    """What is known so far about a failure.

    Attributes:
        failed: names of the components that failed, such as `link:s1-s7`.
        lost: number of lost packets so far; None if it is not known.
        repaired_ms: time from the failure until all watched pairs delivered again; None if that is not known.
        repaired_by: `switches`, `controller`, `nobody` or `nothing was broken`; empty before it is known.
        every_pair: whether all pairs are probed, not only some that the failure affects.
        cut_off: number of pairs of working switches without a path until the repair.
        back: whether everything that failed is back.
        right: whether all pairs delivered as before once everything was back.
        trouble: sentence about a problem that remains at the end; empty if there is none.
    """

    failed: tuple[str, ...]
    lost: int | None = None
    repaired_ms: float | None = None
    repaired_by: str = ""
    every_pair: bool = True
    cut_off: int = 0
    back: bool = False
    right: bool = False
    trouble: str = ""

    @property
    def level(self) -> str:
        """The severity: `bad` while packets are lost, `repaired`, or `good` once everything is as before."""
        if self.trouble:
            return BAD
        return GOOD if self.right else REPAIRED if self.repaired or self.back else BAD

    @property
    def repaired(self) -> bool:
        """Whether all pairs that still can deliver do so."""
        return self.repaired_by not in ("", "nobody")

    def __str__(self) -> str:
        losses = self._losses()
        return f"{failure_words(self.failed)}{': ' if losses else ''}{losses}{self._ending(bool(losses))}"

    def _losses(self) -> str:
        if self.lost is None:
            return ""
        packets = "no packet" if not self.lost else f"{self.lost} packet{'s' if self.lost > 1 else ''}"
        if not self.repaired_by:
            return f"{packets} lost so far" if self.lost else ""
        span = f" in {_duration(self.repaired_ms)}" if self.lost and self.repaired_ms else ""
        # Until the end, losses and times come from reports; then from every single packet.
        so_far = "" if self.back else " so far"
        by = {"switches": ", repaired by the switches", "controller": ", repaired by the controller"}
        return f"{packets} lost{so_far}{span}" + by.get(
            self.repaired_by, "" if self.repaired else ", not repaired"
        )

    def _ending(self, after_losses: bool) -> str:
        parts = "; " if after_losses else ", "
        pairs = "all pairs" if self.every_pair else "all probed pairs"
        if self.back or self.trouble:
            them = "it is back" if len(self.failed) == 1 else "all are back"
            right = f" and {pairs} deliver as before" if self.right else ""
            return f"{parts}{them}{right}" if not self.trouble else f"{parts}{self.trouble}"
        cut_off = f"; {self.cut_off} pairs of switches are cut off" if self.cut_off else ""
        if not self.repaired or self.lost is None:
            return cut_off
        switches = any(one.startswith(("switch:", "hang:")) for one in self.failed)
        if self.cut_off or (switches and self.every_pair):
            pairs = pairs.replace("all", "all other")
        return f"{cut_off}; {pairs} deliver again" if cut_off else f"{parts}{pairs} deliver again"


def failure_words(failed: Sequence[str]) -> str:
    """Returns what failed, like `Link s1-s7 failed` or `Links s1-s7 and s2-s3 failed`.

    Args:
        failed: names of components, at least one.
    """
    kinds = list(dict.fromkeys(name.partition(":")[0] for name in failed))
    phrases = []
    for kind in kinds:
        names = [name.partition(":")[2] for name in failed if name.partition(":")[0] == kind]
        noun, verb = _WORDS.get(kind, ("the controller", "was killed"))
        if kind not in _WORDS:
            phrases.append(f"{noun} {verb}")
            continue
        more = [f"{len(names) - _MAX_NAMED} more"] if len(names) > _MAX_NAMED else []
        listed = [*names[:_MAX_NAMED], *more]
        if len(listed) > 1:
            text = f"{', '.join(listed[:-1])} and {listed[-1]}"
            plural = "switches" if noun == "switch" else "links"
            phrases.append(f"{plural} {text} {verb}")
        else:
            phrases.append(f"{noun} {listed[0]} {verb}")
    text = " and ".join(phrases)
    return text[0].upper() + text[1:]


def _duration(milliseconds: float) -> str:
    return f"{milliseconds:.0f} ms" if milliseconds < 1000 else f"{milliseconds / 1000:.1f} s"
