"""Values that a child process reads from a file which it inherits, and which no folder has."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def inheritable(value: Any) -> Iterator[tuple[int, ...]]:
    """Opens a file with a value for children that are started in the block.

    Args:
        value: what JSON can express; nothing for children of None.

    Yields:
        The descriptor of the file, for `inherited`; none for None.
    """
    if value is None:
        yield ()
        return
    with os.fdopen(os.memfd_create("inheritance"), "w+b") as file:
        file.write(json.dumps(value).encode())
        file.seek(0)
        yield (file.fileno(),)


def inherited(descriptor: int) -> Any:
    """Returns the value that the parent has put into a file.

    Args:
        descriptor: of the file, which this process inherited.
    """
    with open(descriptor, "rb") as file:
        return json.load(file)
