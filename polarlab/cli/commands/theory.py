"""The commands that need no fabric: a graph, a proof, a prediction."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

from experiments.errors import Status
from experiments.results.text import parameters
from polarlab.cli.console import add_json, print_result, print_rows, print_table
from polarlab.cli.progress import told_if_long
from topology.errors import UsageError


def topology_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab topology`."""
    from experiments.spec.fabric import add_hosts_argument, add_topology_arguments

    add_topology_arguments(parser, "")
    add_hosts_argument(parser)
    parser.add_argument("--list", action="store_true", help="the families, with parameters and an example")
    parser.add_argument("--designs", action="store_true", help="all polarstars of a --radix, by their sizes")
    parser.add_argument(
        "--export",
        nargs=2,
        metavar=("FORMAT", "FILE"),
        help="write the graph as graphml, adjlist, json, booksim (anynet) or sst (edge list)",
    )
    parser.add_argument("--figure", metavar="FILE", type=Path, help="draw the fabric into a .png or .svg")
    add_json(parser)


@told_if_long()
def topology(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab topology` is for."""
    import numpy as np

    from experiments.results.new_files import check_new
    from experiments.spec.fabric import read_topology
    from experiments.theory.export import check_format, export
    from topology.addressing import check_hosts

    if arguments.list or arguments.designs:
        if arguments.export or arguments.figure:
            raise UsageError("--list and --designs only list: ask for a graph's file or figure without them")
        return _list_families(arguments) if arguments.list else _list_designs(arguments)
    if not arguments.name:
        raise UsageError("which topology? `polarlab topology --list` names them")
    check_hosts(arguments.hosts)
    if arguments.export:
        format_, export_path = arguments.export[0], Path(arguments.export[1])
        check_format(format_)
        check_new(export_path)
        if arguments.figure and export_path.resolve() == arguments.figure.resolve():
            raise UsageError(f"{export_path} cannot be the figure as well")
    if arguments.figure:
        from experiments.figures.fabric import draw_topology
        from experiments.figures.style import check_figure

        check_figure(arguments.figure)
    _, topology = read_topology(arguments)
    degrees, counts = np.unique(topology.degrees, return_counts=True)
    if arguments.export:
        export(topology, arguments.hosts, format_, export_path)
    if arguments.figure:
        named = f"{arguments.name} ({parameters(topology.params)})"
        title = f"{named}: {topology.routers} routers, {topology.links} links"
        draw_topology(topology, title, arguments.figure)
    result = {
        "name": arguments.name,
        "params": dict(topology.params),
        "routers": topology.routers,
        "links": topology.links,
        "degrees": {str(d): int(n) for d, n in zip(degrees, counts, strict=True)},
        "diameter": topology.diameter,
        "average_path_length": round(topology.average_path_length, 6),
        "moore_efficiency": round(topology.moore_efficiency, 6),
        "endpoints": topology.routers * arguments.hosts,
        "next_hop_rules": {"with_masks": topology.next_hop_rules, "one_per_router": topology.routers - 1},
    }
    print_result(arguments, result)
    return Status.DONE


def _list_families(arguments: argparse.Namespace) -> Status:
    from topology.registry import FAMILIES

    families = [
        {
            "name": name,
            "parameters": " ".join(
                f"--{p.name}" if p.required else f"[--{p.name}]" for p in family.parameters
            ),
            "summary": family.summary,
            "example": family.example,
        }
        for name, family in FAMILIES.items()
    ]
    print_rows(arguments, "families", families, ("name", "parameters", "summary", "example"))
    return Status.DONE


def _list_designs(arguments: argparse.Namespace) -> Status:
    from topology.families.polarstar import PolarStar, designs_of_radix

    given = {name: getattr(arguments, name, None) for name in ("radix", "supernode", "q", "degree", "from")}
    foreign = [name for name in ("q", "degree", "from") if given[name] is not None]
    radix = given["radix"]
    if arguments.name != PolarStar.name or radix is None or foreign:
        raise UsageError(
            "--designs lists the polarstars of a radix (and a --supernode): "
            "polarlab topology polarstar --radix 15 --designs"
        )
    found = [
        {"routers": d.routers, "q": d.q, "supernode": d.supernode, "degree": d.degree}
        for d in designs_of_radix(radix, given["supernode"])
    ]
    if arguments.json:
        print_result(arguments, {"radix": radix, "designs": found})
    else:
        print_table(found, ("routers", "q", "supernode", "degree"))
    return Status.DONE


def verify_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab verify`."""
    from experiments.spec.fabric import (
        add_hosts_argument,
        add_local_repair_argument,
        add_routing_argument,
        add_topology_arguments,
    )

    add_topology_arguments(parser)
    add_hosts_argument(parser)
    add_routing_argument(parser)
    parser.add_argument(
        "--failures", default="none", help="none, links or switches, one at a time (default none)"
    )
    add_local_repair_argument(parser)
    add_json(parser)


@told_if_long()
def verify(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab verify` is for."""
    from experiments.spec.fabric import read_topology
    from routing.registry import make_plan
    from routing.verification.verifier import MAX_LISTED_FAULTS, prove
    from topology.addressing import switch_name
    from topology.failures import NO_FAILURE, link_failures, switch_failures

    params, topology = read_topology(arguments)
    scenarios = {
        "none": lambda: [NO_FAILURE],
        "links": lambda: [NO_FAILURE, *link_failures(topology)],
        "switches": lambda: [NO_FAILURE, *switch_failures(topology)],
    }
    if arguments.failures not in scenarios:
        raise UsageError(f"unknown failures {arguments.failures!r}; there are: {', '.join(scenarios)}")
    started = time.monotonic()
    repair = arguments.local_repair
    plan = make_plan(topology, arguments.hosts, arguments.routing, local_repair=repair)
    proof = prove(plan, scenarios[arguments.failures]())
    size = plan.size()
    result = {
        "name": arguments.name,
        "params": params,
        "routing": arguments.routing,
        "failures": arguments.failures,
        "ok": proof.ok,
        "pairs": proof.pairs,
        "scenarios": proof.scenarios,
        "delivered": proof.delivered,
        "cut_off": proof.cut_off,
        "max_hops": proof.max_hops,
        "loops": proof.loops,
        "blackholes": proof.blackholes,
        "misdelivered": proof.misdelivered,
        "over_bound": proof.over_bound,
        "miscounted": proof.miscounted,
        "flows_per_switch_max": size.flows_per_switch_max,
        "groups_per_switch_max": size.groups_per_switch_max,
        "buckets_per_switch_max": size.buckets_per_switch_max,
        "unprotected": len(plan.unprotected),
        "seconds": round(time.monotonic() - started, 3),
    }
    if arguments.json:
        result["unprotected_pairs"] = [
            [switch_name(router), switch_name(destination), element.name]
            for router, destination, element in plan.unprotected
        ]
    print_result(arguments, result)
    for fault in proof.faults:
        print(f"polarlab: {fault}", file=sys.stderr)
    if len(proof.faults) == MAX_LISTED_FAULTS:
        print("polarlab: these are the first; there may be more", file=sys.stderr)
    for router, destination, element in plan.unprotected[:MAX_LISTED_FAULTS]:
        here, there = switch_name(router), switch_name(destination)
        print(f"polarlab: {here} knows no way to {there} while {element.name} is dead", file=sys.stderr)
    if len(plan.unprotected) > MAX_LISTED_FAULTS:
        print("polarlab: these are the first; --json lists all", file=sys.stderr)
    return Status.DONE if proof.ok else Status.NEGATIVE


def patterns_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab patterns`."""
    add_json(parser)


def patterns(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab patterns` is for."""
    from traffic.workload.collectives.operations import COLLECTIVES
    from traffic.workload.patterns import PATTERNS, usage

    rows = [
        {"pattern": usage(name), "level": what.level, "definition": what.description, "source": what.source}
        for name, what in PATTERNS.items()
    ]
    rows += [
        {
            "pattern": f"{name}:{algorithm}",
            "level": "collective",
            "definition": collective.description,
            "source": collective.source,
        }
        for name, collective in COLLECTIVES.items()
        for algorithm in collective.algorithms
    ]
    print_rows(arguments, "patterns", rows, ("pattern", "level", "definition", "source"))
    return Status.DONE


def predict_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab predict`."""
    from experiments.spec.fabric import add_hosts_argument, add_routing_argument, add_topology_arguments
    from experiments.spec.traffic import DEFAULT_LOAD, add_pattern_arguments

    add_topology_arguments(parser)
    add_hosts_argument(parser)
    add_routing_argument(parser)
    add_pattern_arguments(parser)
    parser.set_defaults(load=DEFAULT_LOAD)
    add_json(parser)


@told_if_long()
def predict(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab predict` is for."""
    from experiments.spec.fabric import read_topology
    from experiments.spec.values import check_seed
    from experiments.theory.fluid_model import predict_pattern
    from routing.registry import ROUTINGS, make_plan, routing
    from topology.addressing import switch_name
    from traffic.workload.patterns import check_load, make_pattern

    params, topology = read_topology(arguments)
    check_load(arguments.load)
    check_seed(arguments.seed)
    if not routing(arguments.routing).oblivious:
        known = ", ".join(sorted(name for name, one in ROUTINGS.items() if one.oblivious))
        raise UsageError(
            f"{arguments.routing} adapts to the traffic, which this model does not know; there are: {known}"
        )
    plan = make_plan(topology, arguments.hosts, arguments.routing)
    pattern = make_pattern(arguments.pattern, topology, arguments.hosts, arguments.seed)
    prediction = predict_pattern(plan, pattern, arguments.load)
    links = [
        f"{switch_name(router)}-{switch_name(neighbour)}"
        for router in range(topology.routers)
        for neighbour in topology.neighbours(router).tolist()
    ]
    result: dict[str, Any] = {
        "name": arguments.name,
        "params": params,
        "routing": arguments.routing,
        "pattern": arguments.pattern,
        "hosts": arguments.hosts,
        "load": arguments.load,
        "offered": round(prediction.offered, 6),
        "accepted": round(prediction.accepted, 6),
        "seed": arguments.seed,
        "link_load_max": round(float(prediction.offered_loads.max()), 6),
        "link_load_mean": round(float(prediction.offered_loads.mean()), 6),
        "links_overloaded": int((prediction.offered_loads > 1 + 1e-9).sum()),
    }
    if arguments.json:
        loads = zip(links, prediction.offered_loads, prediction.carried_loads, strict=True)
        result["links"] = [
            {"link": name, "offered": round(float(a), 6), "carried": round(float(b), 6)}
            for name, a, b in loads
        ]
    print_result(arguments, result)
    return Status.DONE


def explain_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab explain`."""
    from experiments.spec.fabric import add_routing_argument, add_topology_arguments

    add_topology_arguments(parser)
    add_routing_argument(parser)
    parser.add_argument("switch", help="where packets start, as s3")
    parser.add_argument("other", help="where they go, as s17")
    add_json(parser)


@told_if_long()
def explain(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab explain` is for."""
    from experiments.spec.fabric import read_topology
    from experiments.theory.explain import explain, lines_of
    from topology.addressing import switch_router

    params, topology = read_topology(arguments)
    ends = [switch_router(name, topology.routers) for name in (arguments.switch, arguments.other)]
    told = explain(topology, arguments.routing, *ends)
    if arguments.json:
        print_result(arguments, {"name": arguments.name, "params": params, **told})
    else:
        print("\n".join(lines_of(told)).strip())
    return Status.DONE


def rules_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab rules`."""
    from experiments.spec.fabric import (
        add_hosts_argument,
        add_local_repair_argument,
        add_routing_argument,
        add_topology_arguments,
    )

    add_topology_arguments(parser)
    add_hosts_argument(parser)
    add_routing_argument(parser)
    add_local_repair_argument(parser)
    parser.add_argument(
        "--without", metavar="WHAT", help="plan for what is left without link:s1-s7, switch:s4"
    )
    parser.add_argument("switch", help="as s3")
    add_json(parser)


@told_if_long()
def rules(arguments: argparse.Namespace) -> Status:
    """Does what `polarlab rules` is for."""
    from experiments.spec.fabric import read_topology
    from routing.plan.text import describe
    from routing.registry import make_plan
    from routing.replan.replan import surviving_plan
    from topology.addressing import switch_router
    from topology.failures import failure_of
    from topology.faults import ElementKind, parse_elements

    params, topology = read_topology(arguments)
    router = switch_router(arguments.switch, topology.routers)
    repair = arguments.local_repair
    plan = make_plan(topology, arguments.hosts, arguments.routing, local_repair=repair)
    if arguments.without is not None:
        broken = parse_elements(arguments.without, topology, 1)
        if any(element.kind not in (ElementKind.LINK, ElementKind.SWITCH) for element in broken):
            raise UsageError(f"--without is for links and switches, got {arguments.without}")
        failure = failure_of(topology, broken)
        if router in failure.failed_routers:
            raise UsageError(f"{arguments.switch} is what is to be left out; choose another switch")
        plan = surviving_plan(plan, failure)
    description = describe(plan.switches[router])
    if arguments.json:
        heading = {"name": arguments.name, "params": params, "routing": arguments.routing}
        print_result(arguments, {**heading, "switch": arguments.switch, **description})
        return Status.DONE
    for name, lines in description.items():
        print(f"{name} ({len(lines)})")
        print("\n".join(f"  {line}" for line in lines))
    return Status.DONE
