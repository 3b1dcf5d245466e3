"""Prices of routers and cables, and the measures of racks: linear functions whose numbers are data.

Source: Slim Fly (SC14), section VI-B: the price of a cable for each Gb/s grows with its length, that of a
router with its ports, and a port takes the power of its lanes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from topology.errors import ParameterError
from topology.parameters import Parameter, hint

_MOST = 1_000_000


def _number(name: str, unit: str, text: str, least: float = 0) -> Parameter:
    return Parameter(name=name, type=float, help=text, unit=unit, least=least, most=_MOST, required=True)


PRICES = (
    Parameter(name="source", type=str, help="source of the prices", default=""),
    _number("rate", "Gb/s", "rate of a link"),
    _number("electric-per-m", "$", "price of an electric cable for each Gb/s and m"),
    _number("electric-fixed", "$", "price of an electric cable for each Gb/s at a length of 0", -_MOST),
    _number("optic-per-m", "$", "price of an optic cable for each Gb/s and m"),
    _number("optic-fixed", "$", "price of an optic cable for each Gb/s at a length of 0", -_MOST),
    _number("router-per-port", "$", "price of a router for each port"),
    _number("router-fixed", "$", "price of a router beside that of its ports", -_MOST),
    Parameter(name="lanes", type=int, help="lanes of a port", least=0, most=_MOST, required=True),
    _number("lane-power", "W", "power of a lane"),
    _number("inside", "m", "length of a cable inside a rack"),
    _number("overhead", "m", "length of a cable between racks beyond the distance of the racks"),
    _number("rack", "m", "width and depth of a rack with its space on the floor"),
)


@dataclass(frozen=True)
class Prices:
    """Prices in $, and measures of racks, by the keys of PRICES.

    Attributes:
        source: source of the prices.
        rate: rate of a link, in Gb/s.
        electric_per_m, electric_fixed: price of an electric cable for each Gb/s, by its length.
        optic_per_m, optic_fixed: price of an optic cable for each Gb/s, by its length.
        router_per_port, router_fixed: price of a router by its number of ports.
        lanes: lanes of a port.
        lane_power: power of a lane, in W.
        inside: length of a cable inside a rack, in m.
        overhead: length of a cable between racks beyond the distance of the racks, in m.
        rack: width and depth of a rack with its space on the floor, in m.
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
        """Returns the price of an electric cable, at least 0.

        Args:
            metres: its length.
        """
        return self.rate * max(0.0, self.electric_per_m * metres + self.electric_fixed)

    def optic(self, metres: float) -> float:
        """Returns the price of an optic cable, at least 0.

        Args:
            metres: its length.
        """
        return self.rate * max(0.0, self.optic_per_m * metres + self.optic_fixed)

    def router(self, ports: int) -> float:
        """Returns the price of a router, at least 0.

        Args:
            ports: k, the number of all its ports.
        """
        return max(0.0, self.router_per_port * ports + self.router_fixed)

    def router_power(self, ports: int) -> float:
        """Returns the power of a router, in W.

        Args:
            ports: k, the number of all its ports.
        """
        return ports * self.lanes * self.lane_power


def prices_of(content: Mapping[str, Any]) -> Prices:
    """Returns the prices of a file's content.

    Args:
        content: name of each entry of PRICES -> its value; the source may be missing.

    Raises:
        ParameterError: a key is unknown or missing, or a value is outside its domain.
    """
    by_name = {one.name: one for one in PRICES}
    if unknown := [key for key in content if key not in by_name]:
        raise ParameterError(
            f"keys of prices must be {', '.join(by_name)}, got {unknown[0]!r}{hint(unknown[0], by_name)}"
        )
    if missing := [one.name for one in PRICES if one.required and one.name not in content]:
        raise ParameterError(f"prices must have {', '.join(missing)}, got none")
    values = {one.key: one.check(content.get(name, one.default)) for name, one in by_name.items()}
    return Prices(**values)  # type: ignore[arg-type]  # checked by the declarations
