"""Traces of messages: read as they are, and refused by the line that is wrong."""

import pytest

from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from traffic.workload.messages import read_trace

ER2 = PolarFly(2)
HEADER = "time_cycles,source,destination,bytes\n"


def read(tmp_path, text):
    file = tmp_path / "trace.csv"
    file.write_text(text)
    return read_trace(str(file), ER2, 1)


def test_a_trace_is_read_as_it_is(tmp_path):
    trace = read(
        tmp_path, "# a comment\n" + HEADER + "0, h1_1, h2_1, 10\n700,h2_1,h7_1,2000\n700,h1_1,h2_1,1\n"
    )
    assert trace.begin_cycles.tolist() == [0, 700, 700]
    assert (trace.source.tolist(), trace.destination.tolist()) == ([0, 1, 0], [1, 6, 1])
    assert trace.bytes.tolist() == [10, 2000, 1]
    assert not len(trace.dependencies)
    assert trace.sent.all()


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("1000,h1_1,h9_1,10", "line 3: destination must be a host from h1_1 to h7_1, got 'h9_1'"),
        ("1000,nobody,h1_1,10", "line 3: source must be a host from h1_1 to h7_1, got 'nobody'"),
        ("200,h1_1,h2_1,10", "line 3: time_cycles must not decrease, got 200 after 500"),
        ("-1,h1_1,h2_1,10", "line 3: time_cycles must be a whole number, 0 to 1000000000, got '-1'"),
        ("1e3,h1_1,h2_1,10", "got '1e3'"),
        ("1000000001,h1_1,h2_1,10", "got '1000000001'"),
        ("1000,h1_1,h2_1,0", "line 3: bytes must be a whole number, 1 to 1000000000000, got '0'"),
        ("1000,h1_1,h1_1,10", "line 3: destination must differ from the source, got h1_1 twice"),
        ("1000,h1_1,h2_1", "line 3: number of columns must be 4, got 3"),
    ],
)
def test_a_row_that_cannot_be_is_refused_by_its_line(tmp_path, row, said):
    with pytest.raises(ParameterError) as raised:
        read(tmp_path, HEADER + "500,h1_1,h2_1,10\n" + row + "\n")
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("content", "said"), [("time_s,source,destination,bytes\n", "columns must be"), (HEADER, "at least 1")]
)
def test_files_without_messages_are_refused(tmp_path, content, said):
    with pytest.raises(ParameterError, match=said):
        read(tmp_path, content)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_trace(str(tmp_path / "none.csv"), ER2, 1)
