"""Prices of routers and cables, and dimensions of racks: linear functions whose coefficients are data.

Source: Slim Fly (SC14), section VI-B: the price of a cable per Gb/s grows with its length, the price of a
router with its number of ports, and the power of a port with its number of lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topology.errors import ParameterError
from topology.parameters import Parameter, hint, one_of

_MAX_PRICE = 1_000_000


def _number(name: str, unit: str, text: str, least: float = 0) -> Parameter:
    return Parameter(name=name, type=float, help=text, unit=unit, least=least, most=_MAX_PRICE, required=True)


PRICES = (
    Parameter(name="source", type=str, help="source of the prices", default=""),
    _number("rate", "Gb/s", "rate of a link"),
    _number("electric-per-m", "$", "price of an electrical cable per Gb/s and m"),
    _number("electric-fixed", "$", "price of an electrical cable per Gb/s at length 0", -_MAX_PRICE),
    _number("optic-per-m", "$", "price of an optical cable per Gb/s and m"),
    _number("optic-fixed", "$", "price of an optical cable per Gb/s at length 0", -_MAX_PRICE),
    _number("router-per-port", "$", "price of a router per port"),
    _number("router-fixed", "$", "price of a router without its ports", -_MAX_PRICE),
    Parameter(name="lanes", type=int, help="lanes of a port", least=0, most=_MAX_PRICE, required=True),
    _number("lane-power", "W", "power of a lane"),
    _number("inside", "m", "length of a cable inside a rack"),
    _number("overhead", "m", "length of a cable between racks in excess of their distance"),
    _number("rack", "m", "width and depth of a rack including aisle space"),
)


@dataclass(frozen=True)
class Prices:
    """Prices in $ and dimensions of racks; the attributes are the keys of PRICES.

    Attributes:
        source: source of the prices.
        rate: rate of a link, in Gb/s.
        electric_per_m, electric_fixed: price of an electrical cable in $ per Gb/s: per m of its length, and
            the part that does not depend on the length.
        optic_per_m, optic_fixed: the same for an optical cable.
        router_per_port, router_fixed: price of a router in $: per port, and the part that does not depend on
            its ports.
        lanes: lanes of a port.
        lane_power: power of a lane, in W.
        inside: length of a cable inside a rack, in m.
        overhead: length of a cable between racks in excess of their distance, in m.
        rack: width and depth of a rack including aisle space, in m.
    """

    source: str
    rate: float
    electric_per_m: float
    electric_fixed: float
    optic_per_m: float
    optic_fixed: float
    router_per_port: float
    router_fixed: float
    lanes: int
    lane_power: float
    inside: float
    overhead: float
    rack: float

    def electric(self, metres: float) -> float:
        """Returns the price of an electrical cable in $, at least 0.

        Args:
            metres: its length, in m.
        """
        return self.rate * max(0.0, self.electric_per_m * metres + self.electric_fixed)

    def optic(self, metres: float) -> float:
        """Returns the price of an optical cable in $, at least 0.

        Args:
            metres: its length, in m.
        """
        return self.rate * max(0.0, self.optic_per_m * metres + self.optic_fixed)

    def router(self, ports: int) -> float:
        """Returns the price of a router in $, at least 0.

        Args:
            ports: k, its number of ports.
        """
        return max(0.0, self.router_per_port * ports + self.router_fixed)

    def router_power(self, ports: int) -> float:
        """Returns the power of a router, in W.

        Args:
            ports: k, its number of ports.
        """
        return ports * self.lanes * self.lane_power


def prices_of(content: Mapping[str, Any]) -> Prices:
    """Returns the prices that a file contains.

    Args:
        content: name of each entry of PRICES -> its value; `source` may be missing.

    Raises:
        ParameterError: a key is unknown or missing, or a value is outside its domain.
    """
    by_name = {one.name: one for one in PRICES}
    if unknown := [key for key in content if key not in by_name]:
        raise ParameterError(
            f"key of prices must be {one_of(by_name)}, got {unknown[0]!r}{hint(unknown[0], by_name)}"
        )
    if missing := [one.name for one in PRICES if one.required and one.name not in content]:
        raise ParameterError(f"prices must have {', '.join(missing)}")
    values = {one.key: one.check(content.get(name, one.default)) for name, one in by_name.items()}
    return Prices(**values)  # type: ignore[arg-type]  # checked by the declarations
