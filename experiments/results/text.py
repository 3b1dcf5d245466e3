"""Readable text of results' values, for tables, headings and pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from topology.links import rate_text
from topology.networkx_graphs import NetworkxTopology


def readable(value: Any) -> str:
    """Returns a value as readable text."""
    if isinstance(value, dict):
        return ", ".join(f"{key}: {readable(entry)}" for key, entry in value.items()) or "none"
    if isinstance(value, list):
        return ", ".join(map(readable, value)) or "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def with_half(value: Any, half: float | None) -> str:
    """Returns a value as readable text, with half the width of its interval if it has one."""
    return readable(value) if half is None else f"{readable(value)} ± {half:.2g}"


def rate_remedy(rate_bps: int | None, other: str = "--link-rate auto") -> str:
    """Returns a remedy for a slow machine, as the end of a message.

    Args:
        rate_bps: link rate that the machine should sustain; None for no remedy.
        other: another remedy; may be empty.
    """
    if rate_bps is None:
        return ""
    return f"; try --link-rate {rate_text(rate_bps)}" + (f" or {other}" if other else "")


def hosts_text(name: str, hosts: int) -> str:
    """Returns the number of hosts per router for a heading.

    Args:
        name: family of the topology.
        hosts: hosts per router; for a graph with its own hosts, the factor by which these are multiplied.
    """
    if name == NetworkxTopology.name:
        return "the graph's hosts" if hosts == 1 else f"{hosts} times the graph's hosts"
    return "1 host a router" if hosts == 1 else f"{hosts} hosts a router"


def fabric_text(settings: Any) -> str:
    """Returns family, parameters and hosts of a fabric for a heading.

    Args:
        settings: a manifest, or other settings with `name`, `params` and `hosts`.
    """
    shown = f" ({parameters(settings.params)})" if settings.params else ""
    return f"{settings.name}{shown}, {hosts_text(settings.name, settings.hosts)}"


def parameters(params: Mapping[str, Any]) -> str:
    """Returns parameters for a heading, such as `q = 3, degree = 3`; a path is reduced to its last part."""
    return ", ".join(f"{name} = {str(value).rpartition('/')[2]}" for name, value in params.items())
