"""Features of PolarLab, the requirements that this machine lacks, and the commands that install them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.doctor.findings import Finding
from experiments.doctor.installation import (
    has_sources,
    install_packages,
    install_python,
    is_installed,
    is_provisioned,
    missing_requirements,
    name_of,
    provision,
)
from traffic.engine.flows.tcp import available_congestion_controls

_FABRICS = "fabrics"
_FRAMES, _FRAMES_KIND = "data frames", "docs"
_CLASSES, _CLASSES_KIND = "classes of routers", "dev"
_SOURCES = "needs a checkout of PolarLab's sources; an installed package does not have it"


@dataclass(frozen=True)
class Lack:
    """A requirement that this machine lacks.

    Attributes:
        name: name of the program, distribution, kernel feature or other feature.
        package: Debian package that has it.
        requirement: Python requirement by which pip installs it.
        advice: remedy in words, if neither apt nor pip installs it.
        known: whether it could be examined.
    """

    name: str
    package: str = ""
    requirement: str = ""
    advice: str = ""
    known: bool = True


@dataclass(frozen=True)
class Feature:
    """A feature of PolarLab.

    Attributes:
        name: its name.
        lacks: requirements that are missing, or could not be examined.
        kind: argument of vagrant/provision.sh that installs them; empty if none does.
    """

    name: str
    lacks: tuple[Lack, ...]
    kind: str = ""

    @property
    def ready(self) -> bool | None:
        """Whether this machine meets all requirements; None if that could not be examined."""
        if not self.lacks:
            return True
        return False if any(lack.known for lack in self.lacks) else None

    def remedies(self) -> list[str]:
        """Returns commands that install the missing requirements, then advice for the others."""
        packages = list(dict.fromkeys(lack.package for lack in self.lacks if lack.package))
        requirements = [lack.requirement for lack in self.lacks if lack.requirement]
        if (packages or requirements) and is_provisioned():
            commands = [provision(self.kind)]
        else:
            commands = [install_packages(packages)] if packages else []
            commands += [install_python(requirements)] if requirements else []
        return commands + list(dict.fromkeys(lack.advice for lack in self.lacks if lack.advice))

    def to_dict(self) -> dict[str, Any]:
        """Returns the feature with the keys of `polarlab doctor --json`."""
        return {
            "feature": self.name,
            "ready": self.ready,
            "missing": [lack.name for lack in self.lacks],
            "install": self.remedies(),
        }


def pandas_installation() -> str:
    """Returns the command that installs pandas so that this interpreter finds it."""
    return Feature(_FRAMES, (Lack("pandas", requirement="pandas"),), _FRAMES_KIND).remedies()[0]


def igraph_installation() -> str:
    """Returns the command that installs igraph so that this interpreter finds it."""
    return Feature(_CLASSES, (Lack("igraph", requirement="igraph"),), _CLASSES_KIND).remedies()[0]


def examine_features(findings: Sequence[Finding]) -> list[Feature]:
    """Returns all features, each with the requirements that this machine lacks.

    Args:
        findings: the findings on this machine, as `examine` returns them.
    """
    named = {finding.name: finding for finding in findings}
    fabrics = Feature(_FABRICS, tuple(_lack(one) for one in findings if one.needed and not one.present))
    base = () if fabrics.ready else (_without(fabrics),)
    return [
        Feature("figures and reports", tuple(_distributions("matplotlib", "jinja2"))),
        fabrics,
        Feature("hosts isolated from the machine", (*base, *_lacking(named, "user namespaces"))),
        Feature("kernel datapath", (*base, *_lacking(named, "datapath kernel"))),
        Feature("delay and loss on links", (*base, *_lacking(named, "qdisc netem"))),
        Feature("packet captures", (*base, *_programs(tcpdump="tcpdump"))),
        Feature("TCP flows", (*base, *_congestion_control())),
        Feature("iperf at the prompt", (*base, *_programs(iperf3="iperf3"))),
        *(Feature(f"controller on {name}", tuple(_lacking(named, name))) for name in ("ryu", "os-ken")),
        Feature(_FRAMES, tuple(_distributions("pandas")), _FRAMES_KIND),
        Feature(_CLASSES, tuple(_distributions("igraph")), _CLASSES_KIND),
        Feature("notebooks", tuple(_extra("notebooks")), "docs"),
        *_source_features(),
    ]


def _source_features() -> list[Feature]:
    """Returns the features that only a source checkout has."""
    absent = () if has_sources() else (Lack("PolarLab's sources", advice=_SOURCES),)
    machine = _programs(
        **{"debootstrap": "debootstrap", "qemu-system-x86_64": "qemu-system-x86"},
        **{"mke2fs": "e2fsprogs", "vagrant": "vagrant"},
    )
    systems = _programs(debootstrap="debootstrap")
    return [
        Feature("documentation (make docs)", (*absent, *_extra("docs")), "docs"),
        Feature("tests (make test, make lint)", (*absent, *_extra("test")), "dev"),
        Feature("browser tests (make test)", (*absent, *_programs(chromium="chromium")), "tests"),
        Feature("tests in a virtual machine (make vm-test)", (*absent, *machine), "vm-test"),
        Feature("tests on other systems (make test-systems)", (*absent, *systems), "systems"),
        Feature("wheel (make package)", (*absent, *_distributions("build")), "dev"),
    ]


def _lack(finding: Finding) -> Lack:
    if finding.package:
        return Lack(finding.name, package=finding.package)
    return Lack(finding.name, advice=finding.remedy, known=finding.known)


def _without(fabrics: Feature) -> Lack:
    return Lack(_FABRICS, advice="install all requirements of fabrics", known=fabrics.ready is False)


def _lacking(findings: Mapping[str, Finding], name: str) -> Iterable[Lack]:
    finding = findings[name]
    return () if finding.present else (_lack(finding),)


def _programs(**packages: str) -> list[Lack]:
    """Returns the programs that are not installed; `packages` maps program to Debian package."""
    return [Lack(name, package=package) for name, package in packages.items() if shutil.which(name) is None]


def _distributions(*names: str) -> list[Lack]:
    return [Lack(name, requirement=name) for name in names if not is_installed(name)]


def _extra(extra: str) -> list[Lack]:
    return [Lack(name_of(one) or f"extra {extra}", requirement=one) for one in missing_requirements(extra)]


def _congestion_control() -> Iterable[Lack]:
    if available_congestion_controls():
        return ()
    advice = "use a kernel with /proc/sys/net/ipv4/tcp_available_congestion_control"
    return (Lack("TCP congestion control", advice=advice),)
