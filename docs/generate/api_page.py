"""Reference of the Python API, made of the names that `polarlab` exports and their docstrings."""

from __future__ import annotations

import inspect

import polarlab

_INTRODUCTION = """\
# Python API

Everything that `import polarlab` offers."""
_HEADINGS = ("Functions", "Classes", "Errors")


def api_page() -> str:
    """Returns the page as Markdown, with the directives of mkdocstrings."""
    sections: dict[str, list[str]] = {heading: [] for heading in _HEADINGS}
    for name in polarlab.__all__:
        if name.startswith("_"):
            continue
        item = getattr(polarlab, name)
        place = f"{inspect.getmodule(item).__name__}.{item.__name__}"  # type: ignore[union-attr]
        if inspect.isclass(item):
            sections["Errors" if issubclass(item, BaseException) else "Classes"].append(place)
        else:
            sections["Functions"].append(place)
    parts = [_INTRODUCTION]
    for heading, places in sections.items():
        if places:
            parts += [f"## {heading}", *(f"::: {place}" for place in places)]
    return "\n\n".join(parts) + "\n"
