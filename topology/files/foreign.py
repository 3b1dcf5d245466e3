"""Files that other users of the machine can change, and that could make root run their commands.

Experiment files, manifests and lists of programs contain command lines. Root runs those of other users only
after they have been shown and approved. A file counts as another user's if its permissions, or those of a
folder or symbolic link on its path, let that user, a group or everybody change it.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from topology.files.reading import read_text
from topology.files.rights import ROOT, caller

_MAX_LINKS = 40


@dataclass(frozen=True)
class Foreign:
    """A file that another user can change, and the options whose values come from it.

    Attributes:
        path: the file.
        reason: why it is not trusted, a clause.
        options: names of the options that the file sets.
    """

    path: Path
    reason: str
    options: frozenset[str] = frozenset()

    def without(self, names: Collection[str]) -> Foreign:
        """Returns a copy without the given options, because their values come from elsewhere."""
        return replace(self, options=self.options - {*names})

    def of(self, names: Collection[str]) -> Foreign:
        """Returns a copy whose `options` are the given names."""
        return replace(self, options=frozenset(names))


def read_judged(path: Path, limit: int, *, need: str = "") -> tuple[str, Foreign | None]:
    """Returns (the text of a file; a `Foreign` if another user can change this file, else None).

    The file that is judged is the one that is read, even if its path is replaced in the meantime.

    Args:
        path: the file.
        limit: its largest permitted size in bytes.
        need: a clause that ends the error message, such as `it must be a file of prices`.

    Raises:
        ParameterError: it cannot be read, or is not UTF-8 text.
    """
    judged: list[Foreign | None] = []
    text = read_text(path, limit, need=need, opened=lambda opened: judged.append(foreign_file(path, opened)))
    return text, judged[0]


def foreign_file(path: Path, descriptor: int) -> Foreign | None:
    """Returns a `Foreign` if this process runs as root and another user can change the file; else None.

    Args:
        path: the file.
        descriptor: descriptor of the open file whose content is used.
    """
    if os.geteuid() != ROOT:
        return None
    reason = _distrust_reason(os.fstat(descriptor), path)
    for place in _lookup_path(path):
        if reason:
            break
        try:
            reason = _distrust_reason(os.lstat(place), place)
        except OSError as error:  # it is being changed right now
            reason = f"{place} cannot be checked ({error.strerror})"
    return Foreign(path, reason) if reason else None


def _lookup_path(path: Path) -> Iterator[Path]:
    """Yields all folders and links on the way to a file, and the file, in the kernel's lookup order."""
    names, place, links = [*reversed((Path.cwd() / path).parts)], Path("/"), 0
    while names:
        name = names.pop()
        if name == "..":
            place = place.parent
            continue
        place = place / name
        yield place
        if place.is_symlink() and links < _MAX_LINKS:
            links += 1
            target = place.readlink()
            names += [part for part in reversed(target.parts) if part not in ("/", ".")]
            place = Path("/") if target.is_absolute() else place.parent


def _distrust_reason(status: os.stat_result, place: Path) -> str:
    """Returns a clause that says why others may change a file, folder or link; empty if they may not."""
    user, _ = caller() or (ROOT, ROOT)
    if status.st_uid not in (ROOT, user):
        return f"{place} belongs to {_user_name(status.st_uid)}"
    if stat.S_ISLNK(status.st_mode):
        return ""
    sticky = stat.S_ISDIR(status.st_mode) and status.st_mode & stat.S_ISVTX
    by_group = status.st_mode & stat.S_IWGRP and (not _is_private(status.st_gid, user) or _has_acl(place))
    if (status.st_mode & stat.S_IWOTH or by_group) and not sticky:
        return f"{place} is writable by other users"
    return ""


def _is_private(group: int, user: int) -> bool:
    """Returns whether a group contains nobody but root and a user; False if the user database is unclear."""
    users = pwd.getpwall()
    trusted = {one.pw_name for one in users if one.pw_uid in (ROOT, user)}
    primary = {one.pw_name for one in users if one.pw_gid == group}
    entries = [one for one in grp.getgrall() if one.gr_gid == group]  # several if it has several names
    named = {one.gr_name for one in entries}
    members = {member for one in entries for member in one.gr_mem}
    return bool(named) and trusted >= named | members | primary


def _has_acl(place: Path) -> bool:
    """Returns whether a file has an access control list, which may include further users."""
    try:
        return bool(os.getxattr(place, "system.posix_acl_access"))
    except OSError:
        return False


def _user_name(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
