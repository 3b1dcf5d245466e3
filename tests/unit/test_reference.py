"""Pages that are made of the code: references of the command line, of names and of Python, and notebooks."""

import base64
import functools
import json

from api_page import api_pages
from command_page import command_line_page
from markdown_text import plain
from names_page import names_page
from notebook_page import notebook_page

import polarlab
import polarlab.extend
from polarlab.cli.parser import commands
from routing.registry import ROUTINGS
from topology.registry import FAMILIES
from traffic.workload.patterns import PATTERNS


@functools.cache
def sections():
    """Returns the sections of the page of the command line by their commands."""
    parts = command_line_page().split("\n## polarlab ")[1:]
    return {part.partition("\n")[0]: part for part in parts}


def test_the_reference_has_every_command_with_its_examples():
    assert set(sections()) == set(commands())
    for name, command in commands().items():
        assert all(f"\n{example}\n" in sections()[name] for example in command.EXAMPLES)


def test_the_reference_has_options_with_values_and_meaning():
    run = sections()["run"]
    assert "| `--link-rate RATE` | rate of every port" in run
    assert "| `--strict` | exit with status 1" in run
    assert "| `--supernode SUPERNODE` | " in run
    assert "\n### TCP flows\n" in run
    assert "--help" not in run.partition("Examples")[0]


def test_names_of_registries_are_on_their_page():
    page = names_page()
    for name in (*FAMILIES, *PATTERNS):
        assert f"`{name}" in page
    if "routings" in commands():
        assert all(f"`{name}" in page for name in ROUTINGS)


def test_every_exported_name_is_in_the_reference_of_python():
    page = "".join(api_pages().values())
    for name in (*polarlab.__all__, *polarlab.extend.__all__):
        assert name.startswith("_") or f".{name}\n" in page, name


def test_text_of_messages_stays_as_it_is():
    assert plain("a [b] *c* <d> `e*f`") == r"a \[b\] \*c\* &lt;d&gt; `e*f`"


def test_a_notebook_becomes_a_page_with_its_stored_output(tmp_path):
    pixel = b"\x89PNG\r\n\x1a\n"
    cells = [
        {"cell_type": "markdown", "source": ["# A look\n", "\n", "Text."]},
        {
            "cell_type": "code",
            "source": ["print(1)\n", "draw()"],
            "outputs": [
                {"output_type": "stream", "name": "stdout", "text": ["1\n"]},
                {"output_type": "display_data", "data": {"image/png": base64.b64encode(pixel).decode()}},
            ],
        },
        {"cell_type": "code", "source": ["1 + 1"], "outputs": [{"data": {"text/plain": ["2"]}}]},
    ]
    notebook = tmp_path / "look.ipynb"
    notebook.write_text(json.dumps({"cells": cells, "nbformat": 4}))
    page = notebook_page(notebook, tmp_path)
    assert page.startswith("# A look\n")
    assert "```python\nprint(1)\ndraw()\n```\n\n```text\n1\n```" in page
    assert "```python\n1 + 1\n```\n\n```text\n2\n```" in page
    assert (tmp_path / "figures" / "look-1-1.png").read_bytes() == pixel
    assert "](figures/look-1-1.png)" in page
