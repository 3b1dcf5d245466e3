"""Parameters of routings and patterns, as JSON records and as table rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from polarlab.api.command_line.declarations import Parameter
from polarlab.cli.console import print_table

# Columns of a table of parameters, after the column of names.
COLUMNS = ("parameter", "domain", "default", "meaning")


def parameter_records(parameters: Iterable[Parameter]) -> list[dict[str, Any]]:
    """Returns the declarations of parameters as records of the JSON output."""
    return [
        {
            "name": parameter.name,
            "type": parameter.type.__name__,
            "domain": parameter.domain,
            "unit": parameter.unit,
            "default": parameter.default_in_words if parameter.default is None else parameter.default,
            "help": parameter.help,
        }
        for parameter in parameters
    ]


def print_parameters(
    owner: str, owned: Mapping[str, Sequence[Parameter]], more: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Prints a table of parameters below another table; prints nothing if there are none.

    Args:
        owner: heading of the column of names.
        owned: name -> its parameters.
        more: heading -> cells of a further column, in the order of the parameters.
    """
    further = more or {}
    rows = [
        {
            owner: name,
            "parameter": parameter.name,
            "domain": parameter.domain,
            "default": parameter.default_in_words or "-",
            "meaning": parameter.help,
        }
        for name, parameters in owned.items()
        for parameter in parameters
    ]
    if rows:
        cells = [
            {heading: column[place] for heading, column in further.items()} for place in range(len(rows))
        ]
        print()
        print_table(
            [{**row, **cell} for row, cell in zip(rows, cells, strict=True)], (owner, *COLUMNS, *further)
        )
