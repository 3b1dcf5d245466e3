"""`polarlab schema`: the JSON schema of experiment files."""

from __future__ import annotations

import argparse
import json

from topology.exit_status import Status

SUMMARY = "JSON schema of experiment files"
EXAMPLES = ("polarlab schema",)


def run(_arguments: argparse.Namespace) -> Status:
    """Prints the schema."""
    from experiments.spec.schema import schema

    print(json.dumps(schema(), indent=2))
    return Status.DONE
