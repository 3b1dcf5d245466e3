"""Values that a child process reads from an inherited descriptor of a file that is in no folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def inheritable(value: Any) -> Iterator[tuple[int, ...]]:
    """Opens an anonymous file with a value for child processes that are started in the block.

    Args:
        value: any JSON value; None opens no file.

    Yields:
        The descriptor of the file, for `inherited`; an empty tuple for None.
    """
    if value is None:
        yield ()
        return
    with os.fdopen(os.memfd_create("inheritance"), "w+b") as file:
        file.write(json.dumps(value).encode())
        file.seek(0)
        yield (file.fileno(),)


def inherited(descriptor: int) -> Any:
    """Returns the value that the parent process has written.

    Args:
        descriptor: the inherited descriptor of the file.
    """
    with open(descriptor, "rb") as file:
        return json.load(file)
