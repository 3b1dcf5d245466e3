"""Notebooks of examples/: their cells run in a kernel, in a folder of their own.

`python tests/notebooks.py examples/first_look.ipynb` runs a notebook and writes it back with its outputs,
without anything of the machine in it; min_against_ugal_pf.ipynb needs root.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
_TIMEOUT_S = 300


def executed(path: Path, folder: Path) -> Any:
    """Returns a notebook after its cells have run in a kernel of this interpreter, in a folder.

    Args:
        path: the notebook.
        folder: the working directory of the kernel; results are written there.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell raises an error.
    """
    import nbformat
    from nbclient import NotebookClient

    notebook = nbformat.read(path, as_version=4)
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    # nbclient's kernel of the name python3 is this interpreter, whatever kernels the machine has installed.
    client = NotebookClient(
        notebook,
        timeout=_TIMEOUT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    )
    client.execute(env={**os.environ, "PYTHONPATH": path})
    return notebook


def clean(notebook: Any) -> Any:
    """Returns an executed notebook without times, and without what only this machine has."""
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for cell in notebook.cells:
        cell.metadata = {}
    return notebook


def texts(notebook: Any) -> list[str]:
    """Returns all that the cells of a notebook print or show as text."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            found += [output.get("text", ""), data.get("text/plain", ""), data.get("text/html", "")]
    return [re.sub(r"data:image/png;base64,[^\"]*", "", text) for text in found if text]


def main(names: list[str]) -> None:
    """Runs notebooks and writes them back."""
    import nbformat

    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "examples").symlink_to(EXAMPLES)
            nbformat.write(clean(executed(Path(name), Path(folder))), name)


if __name__ == "__main__":
    main(sys.argv[1:])
