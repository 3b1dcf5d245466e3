"""Suspension of Python's garbage collector while plans and proofs are built.

Plans and proofs consist of millions of long-lived objects, hardly any of which are cyclic garbage. The
collector's passes over them took a third of the run time; one more pass when it resumed took a tenth.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_FROZEN_AT_START = gc.get_freeze_count()  # Python 3.12 freezes some hundred objects itself


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Suspends the search for cyclic garbage; usable as a context manager and as a decorator.

    All objects that exist afterwards count as old; these are searched only after their number has grown by a
    quarter.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            if gc.get_freeze_count() <= _FROZEN_AT_START:  # otherwise this would undo another caller's freeze
                gc.freeze()
                gc.unfreeze()  # moves all objects to the oldest generation
            gc.enable()
