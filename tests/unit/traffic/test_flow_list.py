"""Lists of flows: drawn at a load, replayed from files; frames on the wire and ideal times."""

import numpy as np
import pytest

from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.flows.flow_list import COLUMNS, draw_flows, read_flows
from traffic.workload.flows.frames import ideal_ns, wire_bytes
from traffic.workload.flows.sizes import make_sizes
from traffic.workload.patterns import make_pattern

ER2 = PolarFly(2)
HEADER = ",".join(COLUMNS) + "\n"


def drawn(seed=1, pattern="uniform", flows_per_s=50.0, seconds=20):
    return draw_flows(
        make_pattern(pattern, ER2, 1, 1), make_sizes("web-search"), flows_per_s, seconds * 10**9, seed
    )


def test_starts_are_poisson_at_the_rate_and_ends_are_the_patterns():
    flows = drawn()
    expected = 50 * 7 * 20
    assert len(flows.bytes) == pytest.approx(expected, abs=4 * expected**0.5)
    gaps = np.diff(flows.time_ns)
    assert (gaps >= 0).all()
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.05)  # exponential
    assert (flows.source != flows.destination).all()
    assert flows.time_ns.max() < 20e9
    tornado = drawn(pattern="tornado")
    assert (tornado.destination == (tornado.source + 3) % 7).all()


def test_the_seed_makes_the_flows():
    assert all(
        np.array_equal(one, other)
        for one, other in zip(*(vars(drawn()).values() for _ in range(2)), strict=True)
    )
    assert not np.array_equal(drawn().bytes[:50], drawn(seed=2).bytes[:50])


def test_too_many_flows_are_refused_before_they_are_drawn():
    with pytest.raises(ParameterError, match="at most 200,000"):
        drawn(flows_per_s=1e6)


def test_a_file_is_replayed_as_it_is(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text("# a comment\n" + HEADER + "0, h1_1, h2_1, 10\n0.5,h2_1,h7_1,2000\n0.5,h1_1,h2_1,1\n")
    flows = read_flows(str(file), ER2, 1)
    assert flows.time_ns.tolist() == [0, 500_000_000, 500_000_000]
    assert (flows.source.tolist(), flows.destination.tolist()) == ([0, 1, 0], [1, 6, 1])
    assert flows.bytes.tolist() == [10, 2000, 1]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1,h1_1,h9_1,10", "line 3: destination must be a host from h1_1 to h7_1, got 'h9_1'"),
        ("1,nobody,h1_1,10", "line 3: source must be a host from h1_1 to h7_1, got 'nobody'"),
        ("0.2,h1_1,h2_1,10", "line 3: time_s must not decrease, got 0.2 after 0.5"),
        ("-1,h1_1,h2_1,10", "line 3: time_s must be 0 to 86400 s, got '-1'"),
        ("soon,h1_1,h2_1,10", "got 'soon'"),
        ("1,h1_1,h2_1,-10", "line 3: bytes must be a whole number, 1 to 1000000000000, got '-10'"),
        ("1,h1_1,h2_1,1.5", "got '1.5'"),
        ("1,h1_1,h2_1,0", "got '0'"),
        ("1,h1_1,h1_1,10", "line 3: destination must differ from the source, got h1_1 twice"),
        ("1,h1_1,h2_1", "line 3: number of columns must be 4, got 3"),
    ],
)
def test_a_row_that_cannot_be_is_refused_by_its_line(tmp_path, row, said):
    file = tmp_path / "flows.csv"
    file.write_text(HEADER + "0.5,h1_1,h2_1,10\n" + row + "\n")
    with pytest.raises(ParameterError) as raised:
        read_flows(str(file), ER2, 1)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("content", "said"), [("time,from,to,size\n", "columns must be"), (HEADER, "at least 1")]
)
def test_files_without_flows_are_refused(tmp_path, content, said):
    file = tmp_path / "flows.csv"
    file.write_text(content)
    with pytest.raises(ParameterError, match=said):
        read_flows(str(file), ER2, 1)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_flows(str(tmp_path / "none.csv"), ER2, 1)


def test_a_frame_has_66_bytes_of_headers_and_1448_of_payload():
    assert wire_bytes(np.array([1, 1448, 1449, 14480]), 1500).tolist() == [67, 1514, 1581, 15140]


def test_an_ideal_time_is_the_base_and_the_frames_that_an_idle_port_does_not_send_at_once():
    base_ns = {1: 1e6, 2: 2e6}
    times = ideal_ns(np.array([1, 100_000]), np.array([1, 2]), base_ns, 20_000_000, 1500, 5000)
    frames = 100_000 + 66 * 70
    assert times.tolist() == pytest.approx([1e6, 2e6 + (frames - 5000) * 8 / 20e6 * 1e9])
