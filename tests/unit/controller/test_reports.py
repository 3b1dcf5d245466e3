"""Reports of the controller's process: one line of JSON each, read back as they were."""

import json

import pytest

from controller.reports import (
    Adapted,
    Connected,
    Disconnected,
    Fatal,
    Foreign,
    Incomplete,
    Installed,
    Listening,
    NotDrained,
    Planned,
    PortSet,
    Proven,
    Ready,
    Refused,
    Replanned,
    Report,
    Restored,
    RoutingSet,
    TakingOver,
    Unusable,
    Warned,
    format_report,
    parse_report,
)

REPORTS = [
    Planned(242, 54, "5f3a", 0.25),
    Proven(42, 2, 0.5),
    Listening("unix:/run/polarlab/controller"),
    Connected(3),
    Foreign(255),
    Disconnected(3),
    Ready("s3", 1, 7),
    Installed(7),
    Incomplete(7, ("s3", "s5")),
    TakingOver(7),
    Adapted(12),
    Restored(),
    RoutingSet("ugal-pf:threshold=0.5"),
    PortSet("s3", 2, "down"),
    Replanned("s1-s4", 30, 2, 2, ("s1 to s4",), 0.25, 0.5),
    Unusable("s1-s2, s3", {"s1-s2": 12.5}, settled=False),
    Warned("s3 does not answer"),
    NotDrained("the plan sends packets from s1 to s4 over s3, which is drained"),
    Refused("s3 reports OFPET_BAD_REQUEST"),
    Fatal("ValueError: a line\nbreak"),
]


def test_every_kind_of_report_is_tried():
    assert {type(report) for report in REPORTS} == set(Report.__subclasses__())


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.event)
def test_a_report_is_one_line_and_is_read_back_equal(report):
    line = format_report(report)
    assert (line.count("\n"), line[-1]) == (1, "\n")
    assert parse_report(line) == report


def test_a_line_has_the_event_the_time_and_the_details():
    line = format_report(Installed(7, monotonic_s=12.5))
    assert json.loads(line) == {"event": "installed", "monotonic_s": 12.5, "switches": 7}


@pytest.mark.parametrize(
    "line",
    ["", "Traceback", "3", "[]", "{}", '{"event": "unheard"}', '{"event": "connected", "port": 3}'],
)
def test_other_lines_are_not_reports(line):
    with pytest.raises(ValueError, match="report must be"):
        parse_report(line)
