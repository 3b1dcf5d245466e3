"""Files of prices: the Slim Fly paper's, and a user's own."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from experiments.spec.files.experiment_file import parse_toml
from topology.costs.prices import Prices, prices_of
from topology.errors import ParameterError
from topology.files.reading import SETTINGS_BYTES, read_text


@cache
def paper_prices() -> Prices:
    """Returns the prices of the Slim Fly paper."""
    return prices_of(tomllib.loads(files(__package__).joinpath("slimfly", "prices.toml").read_text("utf-8")))


def read_prices(path: Path) -> Prices:
    """Reads the prices in a file.

    Args:
        path: the file, TOML with the keys of `topology.costs.prices.PRICES`.

    Raises:
        ParameterError: the file cannot be read or is not TOML, a key is unknown or missing, or a value is
            outside its domain.
    """
    text = read_text(path, SETTINGS_BYTES, need="it must be a file of prices")
    try:
        return prices_of(parse_toml(text, path))
    except ParameterError as error:
        if str(error).startswith(str(path)):
            raise
        raise ParameterError(f"{path}: {error}") from None


def are_of_paper(prices: Prices) -> bool:
    """Returns whether prices equal the Slim Fly paper's, regardless of the name of their source.

    Args:
        prices: the prices.
    """
    return replace(prices, source=paper_prices().source) == paper_prices()


def prices_digest(prices: Prices) -> str:
    """Returns a digest of prices, 8 hexadecimal digits.

    Args:
        prices: the prices.
    """
    return hashlib.sha256(repr(prices).encode()).hexdigest()[:8]
