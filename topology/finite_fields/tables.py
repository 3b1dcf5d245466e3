"""The addition and multiplication tables of GF(q), taken once from the galois library.

Importing galois costs over a second, so `make setup` runs this module once
(`python -m topology.finite_fields.tables`) and leaves all tables, 200 KB, in `TABLE_FILE`. Where the
file is missing (an installation without write access), galois computes the tables at first use.
"""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import numpy as np
import numpy.typing as npt

from topology.finite_fields.prime_powers import LARGEST_ORDER, prime_power

TABLE_FILE = Path(__file__).with_name("finite_field_tables.npz")

Tables = tuple[npt.NDArray[np.uint8], npt.NDArray[np.uint8], int]


def load(order: int) -> Tables:
    """Returns the tables of a field from the file, or from galois if the file does not have them.

    Args:
        order: q, a prime power from 2 to 128.

    Returns:
        (sum, product, primitive element): two uint8 arrays, q x q, and an element.
    """
    try:
        with open(TABLE_FILE, "rb") as file, np.load(file) as stored:
            return (
                stored[f"sum_{order}"],
                stored[f"product_{order}"],
                int(stored[f"primitive_{order}"]),
            )
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):  # absent, cut off or foreign
        return from_galois(order)


def from_galois(order: int) -> Tables:
    """Returns the tables of a field, computed by galois.

    Args:
        order: q, a prime power from 2 to 128.

    Returns:
        (sum, product, primitive element): two uint8 arrays, q x q, and an element.
    """
    import galois  # slow to import, and only needed here

    field = galois.GF(order, compile="python-calculate")  # compiling costs a second per order
    elements = field.elements
    total = np.asarray(elements[:, None] + elements[None, :]).astype(np.uint8)
    product = np.asarray(elements[:, None] * elements[None, :]).astype(np.uint8)
    return total, product, int(field.primitive_element)


def store_all(path: Path = TABLE_FILE) -> None:
    """Writes the tables of every supported order to a file, all or nothing.

    Args:
        path: the file, which is replaced if it exists.

    Raises:
        OSError: the file cannot be written.
    """
    arrays: dict[str, npt.NDArray[np.uint8]] = {}
    for order in range(2, LARGEST_ORDER + 1):
        if prime_power(order):
            total, product, primitive_element = from_galois(order)
            arrays[f"sum_{order}"] = total
            arrays[f"product_{order}"] = product
            arrays[f"primitive_{order}"] = np.array(primitive_element, np.uint8)
    partial = path.with_suffix(".partial.npz")
    np.savez_compressed(partial, **arrays)  # type: ignore[arg-type]  # the stub wants its own kwargs
    os.replace(partial, path)


if __name__ == "__main__":
    store_all()
