"""Tags of frames, by which a run's own frames are told from those that a host's root makes up.

A tag is 32 bits of a keyed hash of the fields that are measured, in the place of TCP's sequence number. Only
the sender and the collector know the key; without it, one forged frame in 2^32 has the right tag.
"""

from __future__ import annotations

import secrets
from hashlib import blake2s

TAG_BYTES = 4


def new_key() -> bytes:
    """Returns a random key."""
    return secrets.token_bytes(16)


class Tagger:
    """Maker of the tags of a key."""

    def __init__(self, key: bytes) -> None:
        # BLAKE2 has no length extension, so a prefixed key is as safe as its keyed mode, and faster.
        self._keyed = blake2s(key, digest_size=TAG_BYTES)

    def tag(self, fields: bytes) -> bytes:
        """Returns the tag of a frame with these fields."""
        state = self._keyed.copy()
        state.update(fields)
        return state.digest()
