"""Demand matrices from files."""

import numpy as np
import pytest
from support.builders.leaf_spine import LeafSpine

from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.patterns import make_pattern
from traffic.workload.schedule import PatternSchedule, schedule_from_dict


def test_a_matrix_names_hosts_of_routers_that_have_some(tmp_path):
    with pytest.raises(ParameterError, match=r"line 2: .*h4_1, got 'h5_1'"):
        make_pattern(matrix(tmp_path, "h1_1,h5_1,1"), LeafSpine(), 1, 1)


def matrix(tmp_path, *lines, header="source,destination,share"):
    path = tmp_path / "demand.csv"
    path.write_text("\n".join([header, *lines]) + "\n")
    return f"matrix:{path}"


def test_a_matrix_gives_every_destination_its_share(tmp_path):
    name = matrix(tmp_path, "h3_1, h1_2, 0.25", "h1_1,h2_1,1.0", "h3_1,h5_1,0.7", "", "h3_1,h2_2,0.05")
    pattern = make_pattern(name, PolarFly(2), 2, 1)
    assert pattern.senders.tolist() == [0, 4]
    shares = pattern.shares()
    assert (shares[0, 2], shares[4, 1], shares[4, 8], shares[4, 3]) == (1, 0.25, 0.7, 0.05)
    assert shares.sum() == pytest.approx(2)
    generator = np.random.default_rng(1)
    drawn = pattern.destinations(np.full(20_000, 4), generator)
    assert np.bincount(drawn, minlength=14) / 20_000 == pytest.approx(shares[4], abs=0.02)
    assert set(pattern.destinations(np.zeros(100, int), generator).tolist()) == {2}
    schedule = PatternSchedule(pattern, 100.0, 1_000_000_000, 4, seed=3)
    assert schedule_from_dict(schedule.to_dict()) == schedule


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["h1_1,h9_1,1"], "line 2: .*h1_1 to h7_1, got 'h9_1'"),
        (["h1_1,h2_1,0.5"], "h1_1 must be 1, got 0.5"),
        (["h1_1,h2_1,1", "h1_1,h2_1,1"], "line 3: .*h1_1, h2_1"),
        (["h1_1,h1_1,1"], "line 2: .*h1_1"),
        (["h1_1,h2_1,x"], "line 2: .*0 to 1, got 'x'"),
        (["h1_1,h2_1,nan"], "line 2: .*0 to 1, got"),
        (["h1_1,h2_1,-1"], "line 2: .*0 to 1, got"),
        (["h1_1,h2_1"], "line 2: .*3, got 2"),
        (["h1_1,h2_1,0"], "share must be over 0"),
        ([], "share must be over 0"),
    ],
)
def test_a_wrong_matrix_is_refused_with_the_place(tmp_path, lines, message):
    with pytest.raises(ParameterError, match=message):
        make_pattern(matrix(tmp_path, *lines), PolarFly(2), 1, 1)


def test_a_file_that_is_no_matrix_is_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"line 1: .*,share, got 'a,b'"):
        make_pattern(matrix(tmp_path, header="a,b"), PolarFly(2), 1, 1)
    with pytest.raises(ParameterError) as error:  # of a matrix without names, of which a line is long
        make_pattern(matrix(tmp_path, header="0," * 1000), PolarFly(2), 1, 1)
    assert len(str(error.value)) < 300 + len(str(tmp_path))
    with pytest.raises(ParameterError, match="cannot be read"):
        make_pattern(f"matrix:{tmp_path}", PolarFly(2), 1, 1)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ParameterError, match="UTF-8"):
        make_pattern(f"matrix:{tmp_path}/binary", PolarFly(2), 1, 1)


def test_a_matrix_may_begin_with_a_byte_order_mark(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes(b"\xef\xbb\xbfsource,destination,share\nh1_1,h2_1,1\n")
    pattern = make_pattern(f"matrix:{path}", PolarFly(2), 1, 1)
    assert pattern.matrix == ((0, 1, 1.0),)
