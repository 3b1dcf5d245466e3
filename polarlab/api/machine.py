"""The machine: its capabilities, and the remains of crashed fabrics."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from emulation import requirements
from emulation.cleanup import MarkedProcess, described, left_behind
from emulation.cleanup import clean as clean_fabric
from experiments.doctor.default_rate import largest_fabric_routers, link_rate_bps
from experiments.doctor.features import Feature, examine_features
from experiments.doctor.findings import Finding, examine
from experiments.results.frames import Row, Table
from polarlab.error_log import remove_old_logs
from polarlab.own_packages import shared_files, sharing_text

__all__ = ["Cleaned", "Examination", "MarkedProcess", "clean", "described", "doctor", "left_behind"]

_FABRICS = ((3, 2), (5, 3), (7, 1), (11, 1))  # order of the field, and hosts of each router
_LOAD, _FRAME_BYTES = 0.5, 1000


@dataclass(frozen=True)
class CarriedFabric:
    """A PolarFly, and whether this machine can carry it.

    Attributes:
        fabric: its command-line arguments.
        switches, hosts: their numbers.
        fits: whether it fits into the free memory.
        link_rate_bps: highest rate of the links, in bit/s, at which results are valid at load 0.5, by rule of
            thumb; None if it does not fit.
    """

    fabric: str
    switches: int
    hosts: int
    fits: bool
    link_rate_bps: float | None


@dataclass(frozen=True, repr=False)
class Examination(Table):
    """Capabilities of this machine.

    Attributes:
        findings: programs, packages, kernel features and resources, with remedies for missing ones.
        features: features of PolarLab, each with its missing requirements.
        fabrics: examples of fabrics.
        largest_fabric_routers: number of switches, with a host each, that fit into the free memory.

    Examples:
        >>> found = doctor()
        >>> found.findings[0].name, found.features[1].name
        ('root', 'fabrics')
    """

    findings: tuple[Finding, ...]
    features: tuple[Feature, ...]
    fabrics: tuple[CarriedFabric, ...]
    largest_fabric_routers: int

    @property
    def missing(self) -> tuple[Finding, ...]:
        """The missing requirements without which this machine cannot launch fabrics."""
        return tuple(finding for finding in self.findings if finding.missing)

    def rows(self) -> list[Row]:
        """Returns the table of findings."""
        return [
            {
                "what": one.name,
                "here": "yes" if one.present else "?" if not one.known else "NO" if one.needed else "no",
                "": one.detail if one.present else one.remedy,
            }
            for one in self.findings
        ]


def doctor() -> Examination:
    """Examines the capabilities of this machine; those of the kernel can only be tested as root.

    Examples:
        >>> one = doctor().fabrics[0]
        >>> one.fabric, one.switches, one.hosts
        ('polarfly --q 3 --hosts 2', 13, 26)
    """
    fabrics = tuple(_carried(q, hosts) for q, hosts in _FABRICS)
    findings = [*examine(), *(_shared(owner, path) for owner, path in shared_files()[:1])]
    return Examination(tuple(findings), tuple(examine_features(findings)), fabrics, largest_fabric_routers(1))


def _shared(owner: str, path: str) -> Finding:
    return Finding("own files", present=False, needed=True, remedy=sharing_text(owner, path))


def _carried(q: int, hosts: int) -> CarriedFabric:
    routers = q * q + q + 1
    fits = routers <= largest_fabric_routers(hosts)
    rate_bps = round(link_rate_bps(routers * hosts, _LOAD, _FRAME_BYTES), -4) if fits else None
    return CarriedFabric(f"polarfly --q {q} --hosts {hosts}", routers, routers * hosts, fits, rate_bps)


@dataclass(frozen=True)
class Cleaned:
    """Remains of fabrics: those that were removed, and those that could not be.

    Attributes:
        processes: processes of a crashed fabric that were killed.
        run_directory: whether a crashed fabric's directory was removed.
        error_logs: logs of internal errors older than an hour.
        left_behind: processes of a crashed fabric that were killed and have not ended.

    Examples:
        >>> found = clean()
        >>> found.run_directory, found.left_behind
        (False, ())
    """

    processes: tuple[MarkedProcess, ...]
    run_directory: bool
    error_logs: tuple[Path, ...]
    left_behind: tuple[MarkedProcess, ...] = ()


def clean() -> Cleaned:
    """Removes the processes and files of a fabric that crashed, and old logs of errors; needs root.

    Raises:
        MachineError: this process does not run as root, or a fabric runs.

    Examples:
        Without a crashed fabric, there is nothing to remove:

        >>> clean().processes
        ()
    """
    requirements.require_root()
    removed = clean_fabric()
    logs = tuple(remove_old_logs())
    return Cleaned(removed.processes, removed.run_dir, logs, removed.left_behind)
