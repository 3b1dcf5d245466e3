"""Markdown extension: every cell of a table carries its column's name, for narrow screens."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions import Extension
from markdown.treeprocessors import Treeprocessor


class _Labels(Treeprocessor):
    """Adds `data-label` to the cells of all tables."""

    def run(self, root: Element) -> None:
        """Labels the cells below an element."""
        for table in root.iter("table"):
            heads = ["".join(head.itertext()).strip().replace("`", "") for head in table.iter("th")]
            for row in table.iter("tr"):
                for cell, head in zip(row.findall("td"), heads, strict=False):
                    cell.set("data-label", head)


class TableLabels(Extension):
    """The extension."""

    def extendMarkdown(self, md: Markdown) -> None:  # noqa: N802
        """Registers the labelling to run before inline code is replaced, while heads are still plain text."""
        md.treeprocessors.register(_Labels(md), "table_labels", 25)


def makeExtension(**options: Any) -> TableLabels:  # noqa: N802
    """Returns the extension, as Markdown asks for it."""
    return TableLabels(**options)
