"""Digests of input files: results keep them, so that edited files are not taken for the measured ones.

The digests are the table `inputs` of the experiment in manifests: path, as the user gave it -> SHA-256.
Manifests of older versions lack the table; their files are not checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

from topology.errors import ParameterError
from topology.files.reading import TABLE_BYTES, FileError, digest_of, read_bytes

INPUTS = "inputs"

Digests = Mapping[str, str]  # path of an input file -> SHA-256 of its content


def digests_of(paths: Iterable[str]) -> dict[str, str]:
    """Returns the digest of each file; omits unreadable files, which the reader of their content reports."""
    found = {}
    for path in paths:
        with suppress(FileError):
            found[path] = digest_of(read_bytes(path, TABLE_BYTES))
    return found


def kept_digests(content: Mapping[str, Any] | None) -> Digests:
    """Returns the digests in the experiment of some results; empty if there are none.

    Args:
        content: the experiment, from their manifest.

    Raises:
        ParameterError: the table is damaged.
    """
    kept = (content or {}).get(INPUTS, {})
    if not isinstance(kept, Mapping) or not all(isinstance(digest, str) for digest in kept.values()):
        raise ParameterError(f"{INPUTS} must be a table of files and their SHA-256, got {kept!r:.80}")
    return kept


def digests_by_path(kept: Digests, paths: Iterable[str]) -> dict[str, str]:
    """Returns absolute path -> digest, for digests stored under the paths that the user gave.

    Args:
        kept: path -> digest; paths may be relative to a folder that is no longer known.
        paths: the same paths, absolute.
    """
    found = {}
    for path in paths:
        parts = PurePath(path).parts
        given = [one for one in kept if parts[-len(PurePath(one).parts) :] == PurePath(one).parts]
        if given:
            found[path] = kept[max(given, key=lambda one: len(PurePath(one).parts))]
    return found
