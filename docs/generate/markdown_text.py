"""Markdown output: tables, and text with its special characters escaped."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Returns a table; cells are Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def plain(text: str) -> str:
    """Returns a text escaped so that Markdown shows it unchanged, except for code in backticks."""
    parts = re.split(r"(`[^`]*`)", " ".join(text.split()))
    return "".join(part if part.startswith("`") else _escaped(part) for part in parts)


def _escaped(text: str) -> str:
    return re.sub(r"([*_\[\]\\])", r"\\\1", html.escape(text, quote=False))


def code(text: str) -> str:
    """Returns a text as code within a line."""
    return f"`{text}`" if text else ""
