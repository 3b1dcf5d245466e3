"""Events of reproduced papers."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.events.base import Event


@dataclass(frozen=True)
class ItemBegun(Event):
    """An item of a paper, of several, is about to be computed."""

    paper: str
    item: str
    title: str
    number: int
    items: int

    def __str__(self) -> str:
        return f"item {self.number} of {self.items}, {self.paper} {self.item}: {self.title}"
