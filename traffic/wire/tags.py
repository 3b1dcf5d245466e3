"""Tags that distinguish a run's own frames from forged ones.

A tag is 32 bits of a keyed hash of the measured fields, in the field of TCP's sequence number. Only the
sender and the collector know the key; without it, one forged frame in 2^32 has the right tag.
"""

from __future__ import annotations

import secrets
from hashlib import blake2s

TAG_BYTES = 4


def new_key() -> bytes:
    """Returns a random key."""
    return secrets.token_bytes(16)


class Tagger:
    """Computes tags with a key."""

    def __init__(self, key: bytes) -> None:
        # BLAKE2 has no length extension, so a prefixed key is as safe as its keyed mode, and faster.
        self._keyed = blake2s(key, digest_size=TAG_BYTES)

    def tag(self, fields: bytes) -> bytes:
        """Returns the tag of a frame with the given measured fields."""
        state = self._keyed.copy()
        state.update(fields)
        return state.digest()
