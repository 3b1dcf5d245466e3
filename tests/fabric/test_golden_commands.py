"""Golden results: repeated on real switches, they have the same keys and offer the same packets."""

import json

import golden
import pytest
from conftest import polarlab

pytestmark = [pytest.mark.usefixtures("no_leftovers"), pytest.mark.slow, pytest.mark.tried_again]

# Entries whose own keys are data, or depend on how busy the machine was.
_KEYS_OF_DATA = ("hops", "fidelity", "repaired_by", "dropped_at_ingress")


def keys(value, at=""):
    """Returns the names of all entries of a record, with those of the entries that they are in."""
    if isinstance(value, list):
        return {name for entry in value for name in keys(entry, at)}
    if not isinstance(value, dict):
        return {at}
    return {at}.union(
        *(keys(entry, f"{at}.{name}") for name, entry in value.items() if name not in _KEYS_OF_DATA)
    )


def offered(folder):
    """Returns what decides about the traffic, and what was sent, in all records and tables of a result."""
    found = {}
    for name in golden.files(folder):
        if name.endswith("summary.json") or (name.startswith("points/") and name.endswith(".json")):
            record = json.loads((folder / name).read_text())
            asked = ["seed", "seeds", "failed", "pairs_watched"]
            # A collective offers as fast as it goes on, and TCP sends again what was lost.
            asked += [] if record.get("collective") else ["offered"]
            found[name] = {key: record[key] for key in asked if key in record}
            found[name]["sent"] = None if record.get("flows") else record.get("packets", {}).get("sent")
            found[name]["commands"] = [program["command"] for program in record.get("programs") or ()]
            found[name]["lines"] = [line["line"] for line in record.get("lines") or ()]
    if (folder / "flows.csv").exists():
        columns = ("source", "destination", "bytes")
        flows = golden.rows(folder / "flows.csv")
        found["flows"] = sorted(tuple(row[column] for column in columns) for row in flows)
    return found


@pytest.mark.parametrize(
    "result", [one for one in golden.OPENED if one.emulated], ids=lambda result: result.name
)
def test_real_packets_again(tmp_path, result):
    [kept] = golden.copied(tmp_path / "kept", result.name)
    golden.copied(tmp_path)
    done = polarlab(*result.words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    again = tmp_path / result.name
    made = [name for name in golden.files(again) if not name.endswith((".png", ".svg"))]
    assert made == [name for name in golden.files(kept) if name != "crosscheck.json"]  # of another command
    for name in made:
        texts = [(folder / name).read_text() for folder in (again, kept)]
        if name.endswith(".json"):
            assert keys(json.loads(texts[0])) == keys(json.loads(texts[1]))
        elif name.endswith(".csv"):
            assert texts[0].partition("\n")[0] == texts[1].partition("\n")[0]
    assert offered(again) == offered(kept)
