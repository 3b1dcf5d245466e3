"""Passes values to child processes, through the inherited descriptor of an anonymous file in memory."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def inheritable(value: Any) -> Iterator[tuple[int, ...]]:
    """Writes a value to an anonymous file, from which child processes started in the block can read it.

    Args:
        value: any JSON value; None opens no file.

    Yields:
        A tuple with the file's descriptor, which the child passes to `inherited`; an empty tuple for None.
    """
    if value is None:
        yield ()
        return
    with os.fdopen(os.memfd_create("inheritance"), "w+b") as file:
        file.write(json.dumps(value).encode())
        file.seek(0)
        yield (file.fileno(),)


def inherited(descriptor: int) -> Any:
    """Returns the value that the parent process has written in a block of `inheritable`.

    Args:
        descriptor: the file descriptor inherited from the parent process; it is closed.
    """
    with open(descriptor, "rb") as file:
        return json.load(file)
