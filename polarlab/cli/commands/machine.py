"""The commands about this machine: `doctor`, and `clean` for what a crashed fabric left on it."""

from __future__ import annotations

import argparse
import json

from experiments.errors import Status
from polarlab.cli.console import print_result, print_table
from topology.errors import MachineError

_EXAMPLES = (("polarfly", 3, 2), ("polarfly", 5, 3), ("polarfly", 7, 1), ("polarfly", 11, 1))


def doctor(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab doctor` is for."""
    from experiments.doctor import examine, largest_fabric_routers, link_rate_bps

    findings = examine()
    missing = [finding for finding in findings if finding.missing]
    fabrics = []
    for name, q, hosts in _EXAMPLES:
        routers = q * q + q + 1
        fits = routers <= largest_fabric_routers(hosts)
        rate = f"{round(link_rate_bps(routers * hosts, 0.5, 1000), -4) / 1e3:g}kbit" if fits else "-"
        fabrics.append(
            {
                "fabric": f"{name} --q {q} --hosts {hosts}",
                "switches": routers,
                "hosts": routers * hosts,
                "fits": "yes" if fits else "no, too little memory",
                "link_rate_at_load_0.5": rate,
            }
        )
    if arguments.json:
        print_result(arguments, {"findings": [one.to_dict() for one in findings], "fabrics": fabrics})
        return Status.MACHINE if missing else Status.DONE
    rows = [
        {
            "what": one.name,
            "here": "yes" if one.present else "?" if not one.known else "NO" if one.needed else "no",
            "": one.detail if one.present else one.remedy,
        }
        for one in findings
    ]
    print_table(rows, ("what", "here", ""))
    print(f"\nUp to {largest_fabric_routers(1):,} switches with a host each fit into the free memory.")
    print(
        "Link rates at which results are valid, by rule of thumb (1,000-byte frames, userspace switches; the"
    )
    print("kernel's carry more; --link-rate auto measures it):\n")
    print_table(fabrics, tuple(fabrics[0]))
    if missing:
        raise MachineError("missing: " + ", ".join(one.name for one in missing))
    return Status.DONE


def clean(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab clean` is for."""
    from emulation.cleanup import clean
    from emulation.requirements import require_root

    require_root()
    removed = clean()
    result = {
        "processes": [{"pid": p.pid, "command": p.command} for p in removed.processes],
        "run_directory": removed.run_dir,
    }
    if arguments.json:
        print(json.dumps(result))
    elif removed.processes or removed.run_dir:
        print(f"removed {len(removed.processes)} processes of a fabric that had crashed")
    else:
        print("nothing was left behind")
    return Status.DONE
