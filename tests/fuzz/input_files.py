"""Damaged input files: graphs, matrices, flows, traces, sizes, experiments, schedules, programs, prices."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support.builders.damaged_files import SECRET, Watch, damaged, exchanged, secret_file
from support.fixtures.foreign_folders import give_all, public_folder

from experiments.papers.prices import read_prices
from experiments.spec.files.experiment_file import read_experiment
from experiments.spec.programs import read_programs
from experiments.spec.traffic import read_schedule
from topology.families.graph_file import GraphFile
from topology.families.low_diameter.polarfly import PolarFly
from topology.files.reading import GRAPH_BYTES, read_text
from topology.networkx_graphs import from_graphml, from_networkx, to_networkx
from traffic.workload.demand_matrix import read_matrix
from traffic.workload.flows.flow_list import read_flows
from traffic.workload.flows.sizes import read_sizes
from traffic.workload.messages import read_trace

COUNT = 2_000
_ROOT = Path(__file__).parents[2]
_ER2 = PolarFly(2)
_ENTITIES = '<!DOCTYPE graphml [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'


@dataclass(frozen=True)
class _Kind:
    """Kind of input file: a name, a right content, and its reader."""

    name: str
    content: bytes
    read: Callable[[Path], object]


def _graph(path: Path) -> object:
    return GraphFile(**{"from": str(path)})


def _experiment(path: Path) -> object:
    return read_experiment(path).resolve()


def _kinds() -> list[_Kind]:
    graphml = from_networkx(to_networkx(_ER2)).graphml.encode()
    matrix = "".join(f"h{n}_1,h{n % 7 + 1}_1,0.5\nh{n}_1,h{(n + 1) % 7 + 1}_1,0.5\n" for n in range(1, 8))
    return [
        _Kind("graph.graphml", graphml, _graph),
        _Kind("graph.xml", graphml.replace(b"<graphml", _ENTITIES.encode() + b"<graphml", 1), _graph),
        _Kind("own.graphml", graphml, lambda path: from_graphml(read_text(path, GRAPH_BYTES))),
        _Kind("graph.edges", (_ROOT / "examples" / "torus-3x3.edges").read_bytes(), _graph),
        _Kind("graph.adjlist", b"0 1 2\n1 2 3\n2 3\n", _graph),
        _Kind(
            "matrix.csv",
            f"source,destination,share\n{matrix}".encode(),
            lambda path: read_matrix(str(path), _ER2, 1),
        ),
        _Kind(
            "flows.csv",
            b"time_s,source,destination,bytes\n0,h1_1,h2_1,1000\n0.5,h3_1,h4_1,20000\n",
            lambda path: read_flows(str(path), _ER2, 1),
        ),
        _Kind(
            "trace.csv",
            b"# a trace\ntime_cycles,source,destination,bytes\n0,h1_1,h2_1,64\n9,h3_1,h4_1,128\n",
            lambda path: read_trace(str(path), _ER2, 1),
        ),
        _Kind("sizes.csv", b"bytes,cumulative_probability\n100,0.5\n2000,1\n", lambda p: read_sizes(str(p))),
        _Kind(
            "faults.txt", b"1 fail link:s1-s2\n2 fail random:1\n3 restore link:s1-s2\n4 drain s3\n", _faults
        ),
        _Kind(
            "programs.txt", b"h1_1 true\n# server\nh2_1 nc -l 5000 &\n", lambda p: read_programs(p, _ER2, 1)
        ),
        _Kind(
            "prices.toml",
            (_ROOT / "experiments" / "papers" / "slimfly" / "prices.toml").read_bytes(),
            read_prices,
        ),
        *(
            _Kind("experiment.toml", (_ROOT / "examples" / f"{name}.toml").read_bytes(), _experiment)
            for name in ("first", "simulation", "tornado-sweep", "programs")
        ),
    ]


def _faults(path: Path) -> object:
    return read_schedule(path, _ER2, 1, 100.0)


def attack(count: int, rng: random.Random) -> Iterator[str]:
    """Reads damaged files and yields a line for each that was not refused in one line or read in time."""
    kinds, watch = _kinds(), Watch()
    with public_folder() as folder:
        secret = secret_file(folder)
        for number in range(count):
            kind = rng.choice(kinds)
            own = folder / str(number)
            own.mkdir()
            path = own / kind.name
            content = kind.content
            for _ in range(rng.randint(1, 2)):
                content = damaged(content, rng, kind.name)
            path.write_bytes(content)
            if rng.random() < 0.08:
                exchanged(path, rng, secret)
            give_all(own)
            with watch.over(f"{kind.name} {content[:300]!r}"):
                kind.read(path)
            if watch.problem:
                yield watch.problem
        assert secret.read_text() == SECRET
