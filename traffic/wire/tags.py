"""Tags that distinguish a run's own frames from forged ones.

A tag is 32 bits of a keyed hash of the fields from which results are computed (addresses, source port,
sequence number, send time). It is written to the field of TCP's sequence number. Only the sender and the
collector know the key; without it, one forged frame in 2^32 has the correct tag.
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
        """Returns the tag, TAG_BYTES long, of a frame whose fields are concatenated in `fields`."""
        state = self._keyed.copy()
        state.update(fields)
        return state.digest()
