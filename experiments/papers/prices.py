"""Files of prices: those of the Slim Fly paper, and a user's own."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path

from topology.costs.prices import Prices, prices_of
from topology.errors import ParameterError


@cache
def paper_prices() -> Prices:
    """Returns the prices of the Slim Fly paper."""
    return prices_of(tomllib.loads(files(__package__).joinpath("slimfly", "prices.toml").read_text("utf-8")))


def read_prices(path: Path) -> Prices:
    """Returns the prices of a file.

    Args:
        path: the file, TOML with the keys of `topology.costs.prices.PRICES`.

    Raises:
        ParameterError: the file cannot be read or is not TOML, a key is unknown or missing, or a value is
            outside its domain.
    """
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise ParameterError(
            f"{path} cannot be read ({error.strerror}); it must be a file of prices"
        ) from None
    except UnicodeDecodeError:
        raise ParameterError(f"{path} must be a text in UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ParameterError(f"{path} must be TOML: {error}") from None
    try:
        return prices_of(content)
    except ParameterError as error:
        raise ParameterError(f"{path}: {error}") from None


def are_of_paper(prices: Prices) -> bool:
    """Returns whether prices are equal to the Slim Fly paper's; the name of their source does not count.

    Args:
        prices: the prices.
    """
    return replace(prices, source=paper_prices().source) == paper_prices()


def prices_digest(prices: Prices) -> str:
    """Returns a digest of prices, 8 hexadecimal digits, by which other prices are told apart.

    Args:
        prices: the prices.
    """
    return hashlib.sha256(repr(prices).encode()).hexdigest()[:8]
