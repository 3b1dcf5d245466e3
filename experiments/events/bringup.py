"""Events while a fabric comes up, is checked, and is taken down."""

from __future__ import annotations

from dataclasses import dataclass

from experiments.events.base import Event, Ongoing


@dataclass(frozen=True)
class EmulationStep(Event):
    """A step of building or starting the emulated network."""

    description: str

    def __str__(self) -> str:
        return self.description


@dataclass(frozen=True)
class PlanProven(Event):
    """The plan passed its proof: every pair of hosts is connected, within so many hops."""

    pairs: int
    max_hops: int
    rules: int
    groups: int

    def __str__(self) -> str:
        return (
            f"plan proven: {self.pairs} pairs of hosts, at most {self.max_hops} hops, "
            f"{self.rules} rules, {self.groups} groups"
        )


@dataclass(frozen=True)
class SwitchesConnected(Ongoing):
    """Switches that have connected to the controller so far, of all switches."""

    connected: int
    switches: int

    @property
    def fraction(self) -> float:
        """The part of the switches."""
        return self.connected / self.switches

    def __str__(self) -> str:
        return f"{self.connected} of {self.switches} switches connected"


@dataclass(frozen=True)
class PlanInstalled(Event):
    """All switches hold their rules, so many seconds after the start."""

    seconds: float

    def __str__(self) -> str:
        return f"all switches hold their rules, {self.seconds:.1f} s after the start"


@dataclass(frozen=True)
class QueuesUnreadable(Event):
    """The queues cannot be read over netlink; the routing adapts by port statistics instead."""

    reason: str

    def __str__(self) -> str:
        return (
            f"the queues cannot be read over netlink ({self.reason}); the routing adapts by port statistics"
        )


@dataclass(frozen=True)
class PairCheckStarted(Event):
    """One probe is about to be sent for every ordered pair of hosts."""

    pairs: int

    def __str__(self) -> str:
        return f"sending one probe for each of {self.pairs} pairs of hosts"


@dataclass(frozen=True)
class PairsDelivered(Ongoing):
    """Pairs of hosts whose probe has arrived so far, of all pairs."""

    delivered: int
    pairs: int

    @property
    def fraction(self) -> float:
        """The part of the pairs."""
        return self.delivered / self.pairs if self.pairs else 1.0

    def __str__(self) -> str:
        return f"{self.delivered} of {self.pairs} pairs delivered"


@dataclass(frozen=True)
class PairCheckPassed(Event):
    """Every pair's probe arrived, within the hops that the routing promises."""

    max_hops: int

    def __str__(self) -> str:
        return f"all pairs delivered, within the routing's bounds (at most {self.max_hops} hops)"


@dataclass(frozen=True)
class FabricDown(Event):
    """The fabric is about to be taken down."""

    def __str__(self) -> str:
        return "taking the fabric down"
