"""`polarlab cite`: BibTeX of this software and of the papers."""

from __future__ import annotations

import argparse

from polarlab.process import Status

SUMMARY = "BibTeX of this software and of the papers"
EXAMPLES = ("polarlab cite", "polarlab cite polarfly")


def run(arguments: argparse.Namespace) -> Status:
    """Prints the BibTeX entry of a paper or of the software, or all entries."""
    from polarlab.api.command_line.citations import citation, citations

    print("\n".join(citations().values()) if arguments.item is None else citation(arguments.item), end="")
    return Status.DONE
