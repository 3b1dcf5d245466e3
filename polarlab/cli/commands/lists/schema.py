"""`polarlab schema`: the JSON schema of experiment files."""

from __future__ import annotations

import argparse
import json

import polarlab
from polarlab.process import Status

SUMMARY = "JSON schema of experiment files"
EXAMPLES = ("polarlab schema",)


def run(_arguments: argparse.Namespace) -> Status:
    """Prints the JSON schema of experiment files."""
    print(json.dumps(polarlab.schema(), indent=2))
    return Status.DONE
