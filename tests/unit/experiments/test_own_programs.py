"""A user's programs: their specification, and runs whose traffic is theirs alone."""

import os
import time
from contextlib import nullcontext
from dataclasses import replace
from subprocess import Popen
from types import SimpleNamespace

import pytest
from support.builders.records import run_manifest, summary, write

import polarlab
from experiments.comparison.compare import compare
from experiments.events.progress import ProgramsProgress
from experiments.programs.running import ProgramPlan, RunningPrograms, failure_text
from experiments.results.parts.programs import ProgramRecord, PromptLine
from experiments.results.replications import combine
from experiments.results.run_directory import MANIFEST, SUMMARY
from experiments.spec.programs import (
    Program,
    ProgramOptions,
    ProgramTraffic,
    check_programs,
    parse_program,
    read_programs,
)
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from traffic.metrics.measurements import Clock

ER2 = PolarFly(2)
RECORD = ProgramRecord(
    host="h1_1",
    command="iperf3 -c h5_1",
    status=0,
    started_s=0.01,
    ended_s=5.1,
    output="programs/2-h1_1.out",
    errors="programs/2-h1_1.err",
)


@pytest.mark.parametrize(
    ("line", "program"),
    [
        ("h1_1 iperf3 -c h5_1 -t 10", Program("h1_1", "iperf3 -c h5_1 -t 10")),
        ("  h5_1   iperf3 -s  & ", Program("h5_1", "iperf3 -s", server=True)),
        ("h5_1 iperf3 -s&", Program("h5_1", "iperf3 -s", server=True)),
        ("s5 tcpdump -ni s5-eth3", Program("s5", "tcpdump -ni s5-eth3")),
        ("h1_1 true && echo '&' # 1", Program("h1_1", "true && echo '&' # 1")),
    ],
)
def test_a_line_names_a_host_and_a_command(line, program):
    assert parse_program(line, ER2, 1) == program
    assert parse_program(program.line, ER2, 1) == program


@pytest.mark.parametrize(
    "line", ["", "h9_1 true", "true", "h1_1", "h1_1 &", "h1_1 true &&", "h1_2 true", "S1 x"]
)
def test_a_line_without_host_or_command_is_refused(line):
    with pytest.raises(ParameterError, match="program must be"):
        parse_program(line, ER2, 1)


def test_a_file_has_a_program_in_each_line_and_comments(tmp_path):
    file = tmp_path / "programs.txt"
    file.write_text(
        "# clients\nh1_1 true\n\n  # and a server\nh1_1 nc -l 5000 &\r\nh2_1 echo '# no comment'\n"
    )
    programs = read_programs(file, ER2, 1)
    assert [program.line for program in programs] == [
        *("h1_1 true", "h1_1 nc -l 5000 &", "h2_1 echo '# no comment'")
    ]
    file.write_text("h1_1 true\nh8_1 true\n")
    with pytest.raises(ParameterError, match=r"programs.txt, line 2: .*h7_1.*'h8_1 true'"):
        read_programs(file, ER2, 1)
    file.write_text("# nothing\n")
    with pytest.raises(ParameterError, match="got none"):
        read_programs(file, ER2, 1)
    file.write_bytes(b"\xff\xfe")
    with pytest.raises(ParameterError, match="UTF-8 text"):
        read_programs(file, ER2, 1)
    with pytest.raises(ParameterError, match="cannot be read"):
        read_programs(tmp_path, ER2, 1)


def test_servers_alone_would_never_end():
    server = Program("h1_1", "nc -l 5000", server=True)
    with pytest.raises(ParameterError, match="servers"):
        check_programs([server])
    check_programs([server, Program("h2_1", "true")])


def test_manifests_name_the_programs():
    options = ProgramOptions((Program("h1_1", "true"),), 20.0)
    settings = replace(ProgramTraffic(1514, 1).settings(), **options.settings())
    assert (settings.programs, settings.exec_timeout_s) == (("h1_1 true",), 20.0)
    assert ProgramOptions().settings() == {}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"status": 127}, "`h1_1 iperf3 -c h5_1` could not be run (status 127): line 1: not found"),
        ({"status": 1}, "ended with status 1: line 1: not found"),
        ({"status": -11}, "was killed by signal 11"),
        ({"status": None, "timed_out": True}, "did not finish within 5 s"),
    ],
)
def test_a_failure_is_told_with_the_programs_last_words(tmp_path, changes, words):
    (tmp_path / "programs").mkdir()
    (tmp_path / RECORD.errors).write_text("starting\nline 1: not found\n\n")
    failed = replace(RECORD, **changes)
    assert failed.failed
    assert words in failure_text(failed, tmp_path, 5.0)


def test_a_program_that_polarlab_ended_has_not_failed():
    assert not RECORD.failed
    assert not replace(RECORD, server=True, status=None).failed


NOTHING = {
    "offered": None,
    "accepted": None,
    "loss": None,
    "load": None,
    "hops": {},
    "hops_as_distances": None,
}


@pytest.fixture
def run(tmp_path):
    """A folder of a run whose traffic was that of programs alone."""
    write(tmp_path, SUMMARY, summary(pattern="programs", **NOTHING, programs=(RECORD,)))
    traffic = replace(ProgramTraffic(1514, 1).settings(), programs=("h1_1 true",))
    write(tmp_path, MANIFEST, run_manifest(traffic=traffic))
    links = "time_s,link,port,tx_bytes,dropped_packets,waiting_packets\n"
    links += "".join(f"{t / 4},s1-s2,1,{1000 * t},0,0\n{t / 4},s2-s1,1,0,0,0\n" for t in range(1, 20))
    (tmp_path / "links.csv").write_text(links)
    return tmp_path


def test_a_run_without_generated_packets_is_drawn_and_reported(run):
    assert {path.stem for path in polarlab.plot(run).save()} == {"throughput"}
    assert "iperf3 -c h5_1" in polarlab.report(run).read_text()


def test_runs_with_and_without_generated_packets_are_compared(run, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    write(other, SUMMARY, summary())
    write(other, MANIFEST, run_manifest())
    compared = compare(run, other)
    assert compared.differing["programs"] == [["h1_1 true"], None]
    assert compared.results["offered"][0] is None


def test_a_session_is_drawn_with_its_lines(run):
    lines = (PromptLine("h1_1 ping -c 1 h5_1", 0, 1.0, 2.0),)
    write(run, SUMMARY, summary(pattern="session", **NOTHING, lines=lines))
    assert {path.stem for path in polarlab.plot(run).save()} == {"throughput"}


def test_a_file_of_the_caller_is_named_by_its_place_on_hosts(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    record = replace(RECORD, command="python3 server.py", status=2, errors="errors")
    (tmp_path / "errors").write_text("python3: can't open file '/root/server.py'\n")
    assert "POLARLAB_CALLER_DIR" not in failure_text(record, tmp_path, 300)
    (tmp_path / "server.py").touch()
    assert "$POLARLAB_CALLER_DIR/server.py" in failure_text(record, tmp_path, 300)


class OneNamespace:
    """A fabric, and its network, all of whose nodes are in this process's namespaces."""

    network = property(lambda self: self)
    working_folders_in = staticmethod(nullcontext)

    def __getitem__(self, _node):
        return SimpleNamespace(start_program=Popen)


def running_programs(folder, events, *lines, **options):
    """Returns programs that run here."""
    given = ProgramOptions(tuple(parse_program(line, ER2, 1) for line in lines), **options)
    return RunningPrograms(OneNamespace(), ProgramPlan(given, lambda _seed: folder), 1, events.append)


def test_a_program_is_ended_at_its_time_while_traffic_goes_on(monkeypatch, tmp_path):
    events = []
    with running_programs(tmp_path, events, "h1_1 sleep 600", timeout_s=0.3) as running:
        running.start(Clock(time.monotonic_ns(), time.time_ns()))
        deadline = time.monotonic() + 20
        while running.records()[0].ended_s is None:  # nobody waits for it
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not running.wait()
        running.end()
    assert (running.records()[0].timed_out, running.records()[0].status) == (True, None)
    assert str(events[-1]).startswith("`h1_1 sleep 600` did not finish within 0.3 s and was stopped")


def test_a_server_that_ends_at_once_is_told_in_one_line(monkeypatch, tmp_path):
    events, lines = [], ("h5_1 echo in use >&2; exit 3 &", "h1_1 true")
    with running_programs(tmp_path, events, *lines) as running:
        running.start(Clock(time.monotonic_ns(), time.time_ns()))
        running.wait()
        running.end()
    told = [str(event) for event in events if "h5_1" in str(event)]
    assert told == [f"`{lines[0]}` ended with status 3 before the other programs started: in use"]


def test_the_progress_names_the_programs():
    lines = tuple(f"h{n}_1 iperf3 -c h9_1" for n in range(1, 6))
    text = str(ProgramsProgress(2.0, lines, 300))
    assert text == "2.0 s of at most 300 s: h1_1 iperf3, h2_1 iperf3, h3_1 iperf3 and 2 more"


def test_reports_and_comparisons_tell_status_and_duration(run):
    failed = replace(RECORD, status=3, ended_s=2.0)
    write(run, SUMMARY, summary(pattern="programs", **NOTHING, programs=(failed,)))
    other = run.with_name("other")
    write(other, SUMMARY, summary(pattern="programs", **NOTHING, programs=(RECORD,)))
    write(other, MANIFEST, run_manifest())
    results = compare(run, other).results
    assert results["status of `h1_1 iperf3 -c h5_1`"] == [3, 0]
    assert results["duration_s of `h1_1 iperf3 -c h5_1`"] == [1.99, 5.09]
    page = polarlab.report(run).read_text()
    assert "<h2>Programs</h2>" in page
    assert "<td>1.99</td>" in page


def test_replications_name_the_programs_of_each():
    two = [summary(seed=seed, pattern="programs", **NOTHING, programs=(RECORD,)) for seed in (4, 5)]
    both = combine(two, 2)
    assert [program.output for program in both.programs] == [f"seed-{n}/{RECORD.output}" for n in (4, 5)]
    assert both.hops_as_distances is None
    assert both.offered is None


def test_the_last_word_of_a_program_is_read_from_a_regular_file_alone(tmp_path):
    record = ProgramRecord(
        host="h1_1", command="x", status=1, started_s=0, ended_s=1, output="1-h1_1.out", errors="1-h1_1.err"
    )
    (tmp_path / "1-h1_1.err").write_text("went wrong")
    assert "went wrong" in failure_text(record, tmp_path, 1.0)
    (tmp_path / "1-h1_1.err").unlink()
    os.mkfifo(tmp_path / "1-h1_1.err")
    assert "status 1" in failure_text(record, tmp_path, 1.0)
