"""Own programs: iperf3 between all neighbours, its own figure against that of the link."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from rows import Row

from experiments.events.base import ignore
from experiments.results.open import Run
from experiments.results.tables import LINK_COLUMNS, LINKS
from experiments.run import run_experiment
from experiments.spec import resolve as specification
from experiments.spec.fabric import FabricOptions
from experiments.spec.programs import Program, ProgramOptions, ProgramTraffic
from topology.base import Link
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec

_RATE_BPS, _SECONDS, _FIRST_PORT = 5_000_000, 5, 6000
# Ethernet frame without FCS, and the part of the stream in it (IPv4, TCP with time stamps, MTU 1500).
_FRAME_BYTES, _PAYLOAD_BYTES = 1514, 1448
_GOAL = 0.02


def iperf3_er3() -> list[Row]:
    """A saturating TCP stream over every link of ER_3, between hosts that have one stream at a time."""
    topology = PolarFly(3)
    links = topology.link_list
    options = FabricOptions("polarfly", {"q": 3}, topology, 1, "min", LinkSpec(_RATE_BPS, 32))
    programs = ProgramOptions(_programs(links), timeout_s=300)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "run")
        run = specification.Run(options, ProgramTraffic(_FRAME_BYTES, 1), programs)
        summary = run_experiment(run, out, ignore)
        table = Run(out).table(LINKS, tuple(LINK_COLUMNS))
        names, sent = np.array(table["link"]), np.array(table["tx_bytes"], np.int64)
        errors, received = [], []
        for link, client in zip(links, (p for p in summary.programs or () if not p.server), strict=True):
            told = json.loads((out / client.output).read_text())["end"]["sum_received"]
            carried = int(sent[names == f"s{link.a + 1}-s{link.b + 1}"].sum())
            errors.append(carried / (told["bytes"] * _FRAME_BYTES / _PAYLOAD_BYTES) - 1)
            received.append(told["bits_per_second"] / 1e6)
    worst = max(errors, key=abs)
    return [
        Row(
            f"ER_3, iperf3 over each of {len(links)} links of {_RATE_BPS / 1e6:g} Mbit/s: bytes of the link",
            f"iperf3's own {np.mean(received):.2f} Mbit/s x {_FRAME_BYTES} / {_PAYLOAD_BYTES}",
            f"worst {worst:+.2%}, mean {np.mean(errors):+.2%}",
            "within 2 %",
            abs(worst) <= _GOAL,
        )
    ]


def _programs(links: tuple[Link, ...]) -> tuple[Program, ...]:
    """Returns a server and a client for each link; no host has two streams at a time."""
    servers, clients = [], []
    busy: list[set[int]] = []  # routers by round
    for number, link in enumerate(links):
        turn = next((n for n, routers in enumerate(busy) if not routers & {link.a, link.b}), len(busy))
        if turn == len(busy):
            busy.append(set())
        busy[turn] |= {link.a, link.b}
        source, destination = f"h{link.a + 1}_1", f"h{link.b + 1}_1"
        port = _FIRST_PORT + number
        servers.append(Program(destination, f"iperf3 -s -p {port}", server=True))
        # A small window, so that little is under way when iperf3 stops to count.
        client = f"iperf3 -c {destination} -p {port} -t {_SECONDS} -w 32K -J"
        clients.append(Program(source, f"sleep {turn * (_SECONDS + 1)}; {client}"))
    return (*servers, *clients)
