"""Options of fabrics, traffic and sweeps: names, defaults and values as they reach a specification."""

import argparse

import pytest

from experiments.spec.fabric import (
    add_fabric_arguments,
    add_impairment_arguments,
    add_routing_argument,
    read_fabric,
)
from experiments.spec.sweep import parse_loads
from experiments.spec.traffic import (
    TrafficOptions,
    add_faults_argument,
    add_traffic_arguments,
    read_traffic,
)
from topology.errors import ParameterError
from topology.families.polarfly import PolarFly


def parsed(arguments: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    add_fabric_arguments(parser)
    add_impairment_arguments(parser)
    add_routing_argument(parser)
    add_traffic_arguments(parser)
    add_faults_argument(parser)
    return parser.parse_args(arguments.split())


def test_options_of_a_fabric():
    fabric = read_fabric(parsed("polarfly --q 3 --hosts 2 --link-rate 500kbit --queue 8 --datapath user"))
    assert (fabric.name, fabric.params, fabric.topology.routers) == ("polarfly", {"q": 3}, 13)
    assert (fabric.hosts, fabric.routing, fabric.datapath) == (2, "min", "user")
    assert (fabric.links.rate_bps, fabric.links.queue_packets) == (500_000, 8)


def test_documented_defaults():
    arguments = parsed("polarfly --q 3")
    fabric, traffic = read_fabric(arguments), read_traffic(arguments, PolarFly(3))
    assert (fabric.hosts, fabric.routing, fabric.datapath) == (1, "min", "auto")
    assert (fabric.links.rate_bps, fabric.links.queue_packets) == (2_000_000, 32)
    assert (traffic.frame_bytes, traffic.flows, traffic.pattern) == (1000, 64, "uniform")


def test_options_of_traffic():
    traffic = read_traffic(
        parsed(
            "polarfly --q 3 --pattern uniform --load 1 --frame-bytes 94 --flows 4096 --duration 0.1 "
            "--warmup 0 --seed 0"
        ),
        PolarFly(3),
    )
    assert traffic == TrafficOptions("uniform", 1.0, 94, 4096, 0.0, 0.1, 0)


@pytest.mark.parametrize(
    ("text", "loads"),
    [
        ("0.1,0.5", (0.1, 0.5)),
        ("0.5, 0.1,0.5", (0.1, 0.5)),
        ("0.1:0.9:0.2", (0.1, 0.3, 0.5, 0.7, 0.9)),
        ("0.1:1:0.4", (0.1, 0.5, 0.9)),
        ("0.5:0.5:0.1", (0.5,)),
        ("0.3333333333", (0.333333,)),
        ("1", (1.0,)),
    ],
)
def test_loads_of_a_sweep(text, loads):
    assert parse_loads(text) == loads


@pytest.mark.parametrize(
    "text",
    ["", "a", "0.1:0.9", "0.9:0.1:0.1", "0.1:0.9:0", "0.1:0.9:1e-9", "0.1:1e12:0.1", "nan", "0", "1.1"],
)
def test_texts_that_are_not_loads(text):
    with pytest.raises(ParameterError):
        parse_loads(text)
