"""Figures of results: drawn in memory, displayed by notebooks, and saved on request."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from topology.errors import NO_WRITE_ACCESS, MachineError

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class LookOptions(TypedDict, total=False):
    """Options of `polarlab.plot` for the style of figures."""

    width: str | float | None
    title: bool
    order: str | Sequence[str]
    x: str
    booksim: bool


_SHOWN_DPI, _SHOWN_COLOURS = 80, 64  # low, to keep notebooks small


class Figures(Mapping[str, "Figure"]):
    """Name -> matplotlib figure; a notebook displays all of them.

    Attributes:
        folder: folder that `save` writes to by default; None if there is none.
        formats: formats that `save` writes.

    Examples:
        With the results of a run in results/tornado:

        >>> figures = open_results("results/tornado").plot("latency", format="png")
        >>> figures["latency"].axes[0].get_xlabel()
        'latency in ms'
        >>> [path.name for path in figures.save()]
        ['latency.png']
    """

    def __init__(
        self,
        figures: Mapping[str, Figure],
        folder: Path | None = None,
        formats: Sequence[str] = ("png", "svg"),
    ) -> None:
        """Wraps figures.

        Args:
            figures: name -> figure.
            folder: folder that `save` writes to by default.
            formats: formats that `save` writes: png, svg, pdf.
        """
        self._figures, self.folder, self.formats = dict(figures), folder, tuple(formats)

    def __getitem__(self, name: str) -> Figure:
        return self._figures[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._figures)

    def __len__(self) -> int:
        return len(self._figures)

    def save(self, folder: Path | str | None = None) -> list[Path]:
        """Writes every figure in each of `formats`, and returns the files.

        Args:
            folder: the folder, which is created if it is missing; by default `self.folder`.

        Raises:
            ValueError: no folder is known.
            MachineError: the folder is not writable.
            OSError: a figure cannot be written.
        """
        from experiments.figures.style import save_figures

        chosen = self.folder if folder is None else Path(folder)
        if chosen is None:
            raise ValueError("folder must be given for these figures, got none")
        try:
            return save_figures(self._figures, chosen, self.formats)
        except OSError as error:
            if error.errno not in NO_WRITE_ACCESS:  # folders of runs belong to root
                raise
            reason = f"{chosen} cannot be written ({error.strerror})"
            raise MachineError(f"{reason}; give a new --out, or use sudo") from None

    def __repr__(self) -> str:
        return f"<figures: {', '.join(self)}>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Returns the figures in the formats that IPython displays."""
        images = {name: base64.b64encode(png(figure)).decode() for name, figure in self.items()}
        if len(images) == 1:
            return {"text/plain": repr(self), "image/png": next(iter(images.values()))}
        parts = [f'<img alt="{name}" src="data:image/png;base64,{data}">' for name, data in images.items()]
        return {"text/plain": repr(self), "text/html": "\n".join(parts)}


def png(figure: Figure) -> bytes:
    """Returns a figure as PNG, small enough for a notebook."""
    from PIL import Image  # installed with matplotlib, which requires it

    drawn, content = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", dpi=_SHOWN_DPI)
    Image.open(drawn).convert("RGB").quantize(_SHOWN_COLOURS).save(content, "png", optimize=True)
    return content.getvalue()
