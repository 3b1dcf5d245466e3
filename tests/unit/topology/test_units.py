"""Rates, times and sizes: one grammar in options, files, Python and fault schedules."""

import re

import pytest

from experiments.spec.experiment import Experiment
from polarlab.cli.main import main
from topology.drawn_faults import parse_process
from topology.errors import ParameterError
from topology.families.low_diameter.polarfly import PolarFly
from topology.faults import parse_schedule
from topology.units import BYTES, MILLISECONDS, RATE, SECONDS, number_of, quantity

GRAPH = {"topology": "polarfly", "q": 3}
DIGITS = "9" * 32


@pytest.mark.parametrize("option", ["mtu", "frame-bytes", "message-bytes", "link-rate", "duration"])
@pytest.mark.parametrize(
    "text", [DIGITS, f"{DIGITS}B", f"{DIGITS}s", f"{DIGITS}bit", "9" * 1_000_000], ids=range(5)
)
def test_numbers_beyond_all_measures_are_refused(option, text):
    pattern = {"pattern": "allreduce"} if option == "message-bytes" else {}
    with pytest.raises(ParameterError, match=option.replace("-", "[- ]")):
        Experiment("run", {**GRAPH, **pattern, option.replace("-", "_"): text}).resolve()


@pytest.mark.parametrize(
    ("text", "unit", "number"),
    [
        ("10M", RATE, 10_000_000),
        ("10Mbit", RATE, 10_000_000),
        ("10Mbps", RATE, 10_000_000),
        ("5s", SECONDS, 5),
        ("300ms", SECONDS, 0.3),
        ("2min", SECONDS, 120),
        ("0.5s", MILLISECONDS, 500),
        ("250us", MILLISECONDS, 0.25),
        ("64KiB", BYTES, 65_536),
        ("64KB", BYTES, 64_000),
        ("64 kB", BYTES, 64_000),
        ("1.5MB", BYTES, 1_500_000),
        ("100B", BYTES, 100),
    ],
)
def test_units_have_their_standard_meanings(text, unit, number):
    assert float(quantity("it", text, unit)) == float(number_of("it", text, unit)) == number


@pytest.mark.parametrize(
    ("text", "unit", "readings"),
    [
        ("64k", BYTES, "64KB (powers of 1000) or 64KiB (powers of 1024)"),
        ("1.5M", BYTES, "1.5MB (powers of 1000) or 1.5MiB (powers of 1024)"),
        ("64Kb", BYTES, "64KB (bytes) or 8KB (bits)"),
        ("10MB", RATE, "10Mbit (bits) or 80Mbit (bytes)"),
        ("10MB/s", RATE, "10Mbit (bits) or 80Mbit (bytes)"),
        ("10Mi", RATE, "10Mbit (powers of 1000) or 10Mibit (powers of 1024)"),
        ("5m", SECONDS, "5min or 5ms"),
        ("5m", MILLISECONDS, "5min or 5ms"),
    ],
)
def test_what_is_ambiguous_is_refused_with_both_readings(text, unit, readings):
    with pytest.raises(ParameterError, match=f"{re.escape(repr(text))}.*{re.escape(readings)}"):
        number_of("it", text, unit)
    for reading in re.findall(r"([0-9.]+[A-Za-z]+)", readings.replace("of 1", "")):
        assert quantity("it", reading, unit)


@pytest.mark.parametrize(
    ("text", "unit"), [("5s", RATE), ("5Mbit", SECONDS), ("5s", BYTES), ("5s", "cycles")]
)
def test_units_of_another_kind_are_refused(text, unit):
    assert number_of("it", text, unit) is None
    assert number_of("it", "5", unit) == 5


@pytest.mark.parametrize(
    ("options", "values"),
    [
        (
            {"link-rate": "10M", "duration": "5s", "warmup": "300ms", "link-delay": "1ms", "mtu": "1500B"},
            {"link-rate": "10M", "duration": 5.0, "warmup": 0.3, "link-delay": 1.0, "mtu": 1500},
        ),
        ({"flow-sizes": "fixed:100KB", "flow-size-limit": "1MB"}, {"flow-size-limit": 1_000_000}),
    ],
)
def test_options_files_and_python_take_the_same_units(capsys, tmp_path, options, values):
    python = Experiment("run", {**GRAPH, **{name.replace("-", "_"): one for name, one in options.items()}})
    assert {name: python.values[name] for name in values} == values
    line = [word for name, one in options.items() for word in (f"--{name}", one)]
    assert main(["run", "polarfly", "--q", "3", *line, "--print-config"]) == 0
    file = tmp_path / "mine.toml"
    text = capsys.readouterr().out
    for name in {"duration", "link-delay", "flow-size-limit"} & options.keys():
        text = re.sub(f"(?m)^{name} = .*$", f'{name} = "{options[name]}"', text)
    file.write_text(text)
    read = Experiment.from_toml(file).values
    assert {name: read[name] for name in values} == values


def test_messages_have_sizes_of_standard_units():
    values = {**GRAPH, "pattern": "allreduce", "ranks": 4, "message_bytes": "64KB,64KiB"}
    assert Experiment("run", values).resolve().traffic.message_bytes == (64_000, 65_536)
    with pytest.raises(ParameterError, match=r"message-bytes .* 64KB .* or 64KiB"):
        Experiment("run", {**values, "message_bytes": "64k"})


def test_fault_schedules_have_units_of_times():
    written = "300ms fail link:s1-s10\n2 restore link:s1-s10\n1min drain s3"
    assert [fault.time_s for fault in parse_schedule(written, PolarFly(3))] == [0.3, 2, 60]
    assert parse_process("mtbf:links=2min,mttr=250ms").mttr_s == 0.25
    with pytest.raises(ParameterError, match="5min or 5ms"):
        parse_schedule("5m fail link:s1-s10", PolarFly(3))
