"""Identity of hosts' users on the machine: root is who called sudo, all others are nobody else."""

from __future__ import annotations

from typing import NamedTuple

from topology.files.rights import caller

# Root of hosts: of its own there and another user on the machine, or the machine's.
OWN_ROOT, REAL_ROOT = "own", "real"
HOST_ROOTS = (OWN_ROOT, REAL_ROOT)
# The ids of a host, of which 0 is its root.
IDS = 1 << 16
# Numbers on the machine of the other ids: above those of people, services, containers (/etc/subuid) and
# directory services, and below 2^31. So many hosts have numbers of their own; further ones share them.
FIRST_NUMBER = 0x7800_0000
_RANGES = (0x8000_0000 - FIRST_NUMBER) // IDS
# The number of root on hosts without sudo, which no other id of a host has. The machine's `nobody` will not
# do: services of the machine run as that user, and could end all programs on hosts.
_NOBODY_ELSE = FIRST_NUMBER
NOBODY = 65534
# User and group of the live page's process: theirs alone, as many processes are nobody's.
PAGE_NUMBER = FIRST_NUMBER - 1
_HIGHEST = PAGE_NUMBER - 1


class Identity(NamedTuple):
    """User and group on the machine, which are root on hosts."""

    user: int
    group: int

    def maps(self, place: int) -> tuple[str, str]:
        """Returns the contents of uid_map and gid_map of a host (user_namespaces(7)).

        Args:
            place: the host's place among the hosts of its fabric.
        """
        first = FIRST_NUMBER + place % _RANGES * IDS
        user, group = (f"0 {own} 1\n1 {first + 1} {IDS - 1}\n" for own in self)
        return user, group

    def has(self, user: int) -> bool:
        """Returns whether a user of the machine is one of those of hosts."""
        return user == self.user or user >= FIRST_NUMBER


def host_root() -> Identity:
    """Returns who is root on hosts: who called sudo, else a user of their own; never the machine's."""
    user, group = (number if 0 < number <= _HIGHEST else _NOBODY_ELSE for number in caller() or (0, 0))
    return Identity(user, _NOBODY_ELSE if user == _NOBODY_ELSE else group)
