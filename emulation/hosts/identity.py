"""Ids of hosts' users on the machine: root is the user who called sudo; other ids belong to nobody."""

from __future__ import annotations

from typing import NamedTuple

from topology.files.rights import caller

# Root of hosts: root only on the host and another user on the machine, or the machine's root.
OWN_ROOT, REAL_ROOT = "own", "real"
HOST_ROOTS = (OWN_ROOT, REAL_ROOT)
# Number of ids on a host; id 0 is its root.
IDS = 1 << 16
# The other ids of hosts are mapped to the machine's ids from here to 2^31, above those of people, services,
# containers (/etc/subuid) and directory services. _RANGES hosts have ids of their own; further hosts share.
FIRST_NUMBER = 0x7800_0000
_RANGES = (0x8000_0000 - FIRST_NUMBER) // IDS
# The machine's id of hosts' root without sudo; no other id of a host maps to it. The machine's `nobody` is
# not suitable: services of the machine run as that user, and could kill all programs on hosts.
_NOBODY_ELSE = FIRST_NUMBER
NOBODY = 65534
# User and group of the live page's process, for it alone: many processes run as nobody.
PAGE_NUMBER = FIRST_NUMBER - 1
_HIGHEST = PAGE_NUMBER - 1


class Identity(NamedTuple):
    """The machine's user and group to which root on hosts is mapped."""

    user: int
    group: int

    def maps(self, index: int) -> tuple[str, str]:
        """Returns the contents of uid_map and gid_map of a host (user_namespaces(7)).

        Args:
            index: the host's index among the hosts of its fabric, from 0.
        """
        first = FIRST_NUMBER + index % _RANGES * IDS
        user, group = (f"0 {own} 1\n1 {first + 1} {IDS - 1}\n" for own in self)
        return user, group

    def has(self, user: int) -> bool:
        """Returns whether an id of the machine is mapped to a user on hosts."""
        return user == self.user or user >= FIRST_NUMBER


def host_root() -> Identity:
    """Returns the machine's user and group that are root on hosts: those of the user who called sudo.

    Without sudo, both are an otherwise unused id. Neither is ever the machine's root.
    """
    user, group = (number if 0 < number <= _HIGHEST else _NOBODY_ELSE for number in caller() or (0, 0))
    return Identity(user, _NOBODY_ELSE if user == _NOBODY_ELSE else group)
