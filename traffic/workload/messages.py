"""Messages of an application with their dependencies: a message is sent when others have arrived."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class MessageGraph:
    """Messages between hosts, and computations of hosts, numbered from 0; int64 arrays.

    One whose source is its destination is a computation: nothing is sent, and it ends when its time of
    computing has passed.

    Attributes:
        source, destination: hosts' indices, (messages,).
        bytes: length of each message, at least 0, (messages,); 0 of a computation.
        begin_cycles: cycle of the application from which it may be sent, (messages,).
        compute_cycles: cycles of computing between the arrival of all that it waits for and its sending,
            (messages,).
        dependencies: (dependencies, 2): a message, and one that waits for its arrival.
    """

    source: Numbers
    destination: Numbers
    bytes: Numbers
    begin_cycles: Numbers
    compute_cycles: Numbers
    dependencies: Numbers

    def __len__(self) -> int:
        return len(self.source)

    @property
    def sent(self) -> npt.NDArray[np.bool_]:
        """Whether each is a message, not a computation: bool array, (messages,)."""
        return np.asarray(self.source != self.destination)

    def waits_for(self) -> Numbers:
        """Returns the number of messages that each waits for: int64 array, (messages,)."""
        return np.bincount(self.dependencies[:, 1], minlength=len(self)).astype(np.int64)

    def successors(self) -> tuple[Numbers, Numbers]:
        """Returns the messages that wait for each message.

        Returns:
            Places at which those of each message begin, (messages + 1,), and the messages that wait.
        """
        order = np.argsort(self.dependencies[:, 0], kind="stable")
        counts = np.bincount(self.dependencies[:, 0], minlength=len(self))
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return starts, self.dependencies[order, 1]
