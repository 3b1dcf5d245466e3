"""Pages of notebooks: their texts, their code, and the output that is stored in them."""

from __future__ import annotations

import base64
import json
import re
from pathlib import Path
from typing import Any


def notebook_page(notebook: Path, folder: Path) -> str:
    """Returns a notebook as Markdown, and writes its figures.

    Args:
        notebook: the notebook's file (format 4).
        folder: the folder of the page; figures go to its subfolder `figures/`.
    """
    content = json.loads(notebook.read_text())
    parts: list[str] = []
    for number, cell in enumerate(content["cells"]):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            # Links to documents and to other notebooks lead to their pages.
            parts.append(re.sub(r"\]\((?:\.\./docs/[\w-]+/)?(\w+)\.(?:ipynb|md)\)", r"](\1.md)", text))
        elif cell["cell_type"] == "code" and text.strip():
            parts.append(f"```python\n{text}\n```")
            for place, output in enumerate(cell["outputs"]):
                parts.append(_output(output, folder, f"{notebook.stem}-{number}-{place}"))
    source = f"*This page is the notebook `examples/{notebook.name}` with its stored output.*"
    return "\n\n".join([parts[0], source, *filter(None, parts[1:])]) + "\n"


def _output(output: dict[str, Any], folder: Path, name: str) -> str:
    """Returns an output of a cell as Markdown: a figure, or text."""
    data = output.get("data", {})
    for kind, suffix in (("image/svg+xml", "svg"), ("image/png", "png")):
        if kind in data:
            figure = folder / "figures" / f"{name}.{suffix}"
            figure.parent.mkdir(parents=True, exist_ok=True)
            image = "".join(data[kind])
            figure.write_bytes(image.encode() if suffix == "svg" else base64.b64decode(image))
            return f"![Output of the cell above](figures/{figure.name})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
