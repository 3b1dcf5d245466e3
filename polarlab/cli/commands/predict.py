"""`polarlab predict`: accepted fraction and link loads of an oblivious routing, by the fluid model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from polarlab.cli.console import print_result
from polarlab.cli.progress import shown_if_long
from topology.errors import UsageError
from topology.exit_status import Status

if TYPE_CHECKING:
    from experiments.theory.fluid_model import Prediction
    from topology.base import Topology

SUMMARY = "accepted fraction and link loads by a fluid model"
EXAMPLES = (
    "polarlab predict polarfly --q 5 --hosts 3 --pattern tornado --load 1",
    "polarlab predict polarfly --q 5 --routing valiant --pattern random-permutation:7 --json",
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `polarlab predict`."""
    from experiments.spec.traffic import DEFAULT_LOAD, DEFAULT_PATTERN
    from polarlab.cli.options.fabric import add_routing_option
    from polarlab.cli.options.output import add_json_option
    from polarlab.cli.options.topology import add_hosts_option, add_topology_options
    from polarlab.cli.options.traffic import add_pattern_options

    add_topology_options(parser)
    add_hosts_option(parser)
    add_routing_option(parser)
    add_pattern_options(parser)
    parser.set_defaults(pattern=DEFAULT_PATTERN, load=DEFAULT_LOAD)
    add_json_option(parser)


def run(arguments: argparse.Namespace) -> Status:
    """Prints the fluid model's prediction for a pattern under an oblivious routing."""
    from experiments.spec.values import check_seed
    from experiments.theory.fluid_model import predict_pattern
    from polarlab.cli.options.topology import read_topology
    from routing.registry import make_plan
    from traffic.workload.patterns import check_load, make_pattern

    check_load(arguments.load)
    check_seed(arguments.seed)
    _check_oblivious(arguments.routing)
    with shown_if_long("predicting link loads"):
        params, topology = read_topology(arguments)
        plan = make_plan(topology, arguments.hosts, arguments.routing)
        pattern = make_pattern(arguments.pattern, topology, arguments.hosts, arguments.seed)
        prediction = predict_pattern(plan, pattern, arguments.load)
    result: dict[str, Any] = {
        "name": arguments.name,
        "params": params,
        "routing": plan.routing,
        "pattern": pattern.name,
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
        result["links"] = _link_loads(topology, prediction)
    print_result(arguments, result)
    return Status.DONE


def _check_oblivious(name: str) -> None:
    from routing.registry import ROUTINGS, routing

    if not routing(name).oblivious:
        oblivious = ", ".join(sorted(other for other, one in ROUTINGS.items() if one.oblivious))
        raise UsageError(
            f"routing must be oblivious for a prediction ({oblivious}), got {name}, which adapts"
        )


def _link_loads(topology: Topology, prediction: Prediction) -> list[dict[str, Any]]:
    """Returns the load of each direction of each link, router by router."""
    from topology.addressing import switch_name

    names = [
        f"{switch_name(router)}-{switch_name(neighbour)}"
        for router in range(topology.routers)
        for neighbour in topology.neighbours(router).tolist()
    ]
    loads = zip(names, prediction.offered_loads, prediction.carried_loads, strict=True)
    return [
        {"link": name, "offered": round(float(offered), 6), "carried": round(float(carried), 6)}
        for name, offered, carried in loads
    ]
