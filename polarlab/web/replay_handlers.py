"""Handlers of the page's actions on finished results."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from experiments.observation.recording import Recording
from polarlab.web.channel import Answer


@dataclass
class ReplayHandlers:
    """The actions on finished results.

    Attributes:
        recording: the results.
        busy: empty, as nothing takes its time.
    """

    recording: Recording
    busy: str = ""

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names of the actions that are possible."""
        return ("recording",)

    def do(self, number: int, name: str, _arguments: bytes) -> Answer:
        """Does an action, and returns its answer; see `Handlers.do`."""
        if name not in self.allowed:
            return Answer(number, 409, {"error": f"{name} is not possible here"})
        return Answer(number, 200, msgspec.to_builtins(self.recording.states))
