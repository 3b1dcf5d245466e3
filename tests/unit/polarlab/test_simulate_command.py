"""`polarlab simulate` and `saturation`: what they print, and how they end."""

import json

import pytest
from command_line import fails, prints_json

from polarlab.cli import main as entry
from topology.exit_status import Status

SHORT = "polarfly --q 3 --hosts 2 --warmup 500 --cycles 1500"


def test_json_has_the_keys_of_a_run(capsys, tmp_path):
    result = prints_json(capsys, f"simulate {SHORT} --load 0.3 --out {tmp_path / 'one'} --json")
    keys = {"name", "params", "routing", "pattern", "hosts", "offered", "accepted", "loss", "hops", "seed"}
    keys |= {"versions", "predicted", "cycles", "stable", "latency_cycles", "latency_frame_times"}
    assert keys <= set(result)
    assert result["latency_ms"] is None
    assert result == json.loads((tmp_path / "one" / "summary.json").read_text())
    figures = {path.name for path in (tmp_path / "one").glob("*.png")}
    assert figures == {"throughput.png", "latency.png", "links.png"}


def test_a_deadlock_ends_with_status_1_and_its_circle(capsys, tmp_path):
    words = f"simulate {SHORT} --load 1 --channel-policy any --virtual-channels 1"
    words += f" --buffer-flits 4 --cycles 20000 --out {tmp_path / 'stuck'}"
    assert entry.main([*words.split(), "--json"]) == Status.NEGATIVE
    out, err = capsys.readouterr()
    result = json.loads(out)
    deadlock = result["deadlock"]
    assert result["measured_cycles"] == max(0, result["cycles"] - 500) < 20_000
    circle = deadlock["circle"]
    assert len(circle) == len(deadlock["channels"]) > 1
    assert f"polarlab: deadlock in cycle {deadlock['cycle']}: {deadlock['waiting']} packets wait" in err
    assert f" -> {circle[0]} (channel 0)\n" in err


def test_a_folder_that_holds_files_is_refused(capsys, tmp_path):
    (tmp_path / "mine").touch()
    assert "is not empty" in fails(capsys, f"simulate {SHORT} --out {tmp_path}", Status.USAGE)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_too_few_channels_are_refused_with_the_number_that_is_needed(capsys, tmp_path):
    words = f"simulate {SHORT} --routing valiant --virtual-channels 2 --out {tmp_path / 'none'}"
    assert "virtual-channels must be 4 or more" in fails(capsys, words, Status.USAGE)
    assert not list(tmp_path.iterdir())


def test_an_unstable_network_is_a_result_and_told(capsys, tmp_path):
    words = f"simulate {SHORT} --load 1 --pattern tornado --out {tmp_path / 'full'}"
    assert entry.main(words.split()) == Status.DONE
    assert "not stable: accepted" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["", "--json"])
def test_saturation_prints_its_points(capsys, words):
    assert entry.main(f"saturation {SHORT} --pattern tornado --precision 0.25 {words}".split()) == Status.DONE
    out, err = capsys.readouterr()
    assert "load 0.5: " in err
    if words:
        assert {point["load"] for point in json.loads(out)["points"]} >= {0.5}
    else:
        assert "latency_cycles" in out
