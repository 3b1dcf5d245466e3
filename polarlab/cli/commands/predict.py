"""`polarlab predict`: accepted fraction and link loads of an oblivious routing, by the fluid model."""

from __future__ import annotations

import argparse
from typing import Any

import polarlab
from polarlab.cli.console import print_result
from polarlab.cli.progress import shown_if_long
from polarlab.process import Status

SUMMARY = "accepted fraction and link loads by a fluid model"
EXAMPLES = (
    "polarlab predict polarfly --q 5 --hosts 3 --pattern tornado --load 1",
    "polarlab predict polarfly --q 5 --routing valiant --pattern random-permutation:7 --json",
)


def run(arguments: argparse.Namespace) -> Status:
    """Prints the fluid model's prediction for a pattern under an oblivious routing."""
    experiment = arguments.experiment
    values = experiment.complete_values
    with shown_if_long("predicting link loads"):
        plan = polarlab.plan(experiment.topology, values["routing"], hosts=values["hosts"])
        found = polarlab.predict(plan, values["pattern"], values["load"], seed=values["seed"])
    result: dict[str, Any] = {
        "name": experiment.family,
        "params": experiment.params,
        **{name: getattr(found, name) for name in ("routing", "pattern", "hosts", "load")},
        "offered": round(found.offered, 6),
        "accepted": round(found.accepted, 6),
        "seed": found.seed,
        "link_load_max": round(found.link_load_max, 6),
        "link_load_mean": round(found.link_load_mean, 6),
        "links_overloaded": found.links_overloaded,
    }
    if arguments.json:
        result["links"] = [
            {"link": one.link, "offered": round(one.offered, 6), "carried": round(one.carried, 6)}
            for one in found.links
        ]
    print_result(arguments, result)
    return Status.DONE
