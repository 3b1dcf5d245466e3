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


def run(arguments: argparse.Namespace) -> Status:
    """Prints the fluid model's prediction for a pattern under an oblivious routing."""
    from experiments.theory.fluid_model import predict_pattern
    from routing.registry import make_plan
    from traffic.workload.patterns import make_pattern

    experiment = arguments.experiment
    values = experiment.complete.values
    _check_oblivious(values["routing"])
    with shown_if_long("predicting link loads"):
        topology = experiment.topology
        plan = make_plan(topology, values["hosts"], values["routing"])
        pattern = make_pattern(values["pattern"], topology, values["hosts"], values["seed"])
        prediction = predict_pattern(plan, pattern, values["load"])
    result: dict[str, Any] = {
        "name": experiment.family,
        "params": experiment.params,
        "routing": plan.routing,
        "pattern": pattern.name,
        **{name: values[name] for name in ("hosts", "load")},
        "offered": round(prediction.offered, 6),
        "accepted": round(prediction.accepted, 6),
        "seed": values["seed"],
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
