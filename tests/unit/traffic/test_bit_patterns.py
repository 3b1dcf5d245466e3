"""Patterns of endpoints' bits against their definitions."""

import pytest

from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from topology.families.low_diameter.polarstar import PolarStar
from topology.families.low_diameter.slimfly import SlimFly
from traffic.workload.patterns import IDLE, make_pattern

FABRICS = [PolarStar(2, "iq", 3), SlimFly(4)]
on_two_fabrics = pytest.mark.parametrize("fabric", FABRICS, ids=["PolarStar 56", "Slim Fly 32"])


@on_two_fabrics
@pytest.mark.parametrize("hosts", [1, 3])
@pytest.mark.parametrize(
    "name", ["bit-shuffle", "bit-rotation", "bit-reverse", "bit-complement", "transpose", "half-shift"]
)
def test_bit_patterns_do_with_the_bits_what_they_are_called(fabric, hosts, name):
    partners = make_pattern(name, fabric, hosts, 1).partners
    endpoints = fabric.routers * hosts
    bits = len(bin(endpoints)) - 3
    assert 2**bits <= endpoints < 2 ** (bits + 1)
    assert len(partners) == endpoints
    for host, partner in enumerate(partners):
        word = f"{host:0{bits}b}"
        expected = {
            "bit-shuffle": word[1:] + word[0],
            "bit-rotation": word[-1] + word[:-1],
            "bit-reverse": word[::-1],
            "transpose": word[bits // 2 :] + word[: bits // 2],
            "half-shift": "10"[int(word[0])] + word[1:],
            "bit-complement": word.translate(str.maketrans("01", "10")),
        }[name]
        if host >= 2**bits or expected == word:
            assert partner == IDLE
        else:
            assert partner == int(expected, 2)


class Two(PolarFly):
    routers = 2


def test_too_few_endpoints_are_told():
    with pytest.raises(ParameterError, match=r"4 .*bit-shuffle, got 2"):
        make_pattern("bit-shuffle", Two(2), 1, 1)
