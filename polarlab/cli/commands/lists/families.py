"""`polarlab families`: the member of each family that is nearest to a radix or a size."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import polarlab
from polarlab.cli.console import print_result, print_table, print_text
from polarlab.cli.progress import shown_if_long
from polarlab.process import Status

SUMMARY = "members of all families nearest to a radix or a number of hosts, side by side"
EXAMPLES = (
    "polarlab families --radix 32 --endpoints 16000",
    "polarlab families --radix 16 --group low-diameter",
    "polarlab families --endpoints 1000 --group dragonflies --costs",
)
_COLUMNS = (
    *("name", "parameters", "radix", "routers", "links", "hosts", "endpoints"),
    *("diameter", "average path", "Moore efficiency"),
)
_COSTS = ("bisection", "cables", "$ per endpoint")


def run(arguments: argparse.Namespace) -> Status:
    """Prints one row per family, with its nearest member."""
    with shown_if_long("computing the graphs"):
        members = polarlab.nearest_members(
            arguments.radix,
            arguments.endpoints,
            arguments.group,
            costs=arguments.costs,
            prices=arguments.prices,
        )
    remark = _remark() if arguments.costs else ""
    if arguments.json:
        result = {"families": [vars(member) for member in members]}
        print_result(arguments, {**result, "remark": remark} if arguments.costs else result)
        return Status.DONE
    columns = (*_COLUMNS, *_COSTS) if arguments.costs else _COLUMNS
    print_table([_row(member) for member in members], columns, by="group")
    if between := [member.name for member in members if member.between_hosts]:
        print()
        print_text(
            f"Diameter and average path of {', '.join(between)} are those between routers with hosts; the "
            "Moore efficiency is that of all routers."
        )
    if remark:
        print()
        print_text(remark)
    return Status.DONE


def _remark() -> str:
    """Returns the note on the search for bisections; empty if METIS is installed."""
    from polarlab.api.analysis.costs import search_remark

    return search_remark()


def _row(member: polarlab.NearestMember) -> Mapping[str, Any]:
    """Returns column -> cell for a family's nearest member; distances are between routers with hosts."""
    options = {one.key: one.name for one in polarlab.families()[member.name].parameters}
    words = (f"--{options[key]} {value}" for key, value in member.params.items())
    distances = member.between_hosts or vars(member)
    return {
        **vars(member),
        "parameters": " ".join(words),
        "diameter": distances["diameter"],
        "average path": f"{distances['average_path_length']:.3f}",
        "Moore efficiency": f"{member.moore_efficiency:.3f}",
        **_costs(member),
    }


def _costs(member: polarlab.NearestMember) -> Mapping[str, str]:
    """Returns column -> cell for a member's bisection and cost; empty unless costs are requested."""
    if member.bisection is None:
        return {}
    return {"bisection": f"{member.bisection:.3f}", "$ per endpoint": f"{member.cost_per_endpoint:.0f}"}
