"""Commands on a machine without Mininet, without a controller framework, and with a newer Python.

A finder that refuses these modules stands for such a machine; modules that Python 3.12 to 3.14 have
removed are refused, too, whichever Python runs the tests.
"""

import json
import os
import shutil
import subprocess
import sys

import pytest
from support.builders import result_folders
from support.builders.repeats import repeats
from support.fixtures.documents import ROOT

MININET = ("mininet", "distutils", "imp", "asyncore", "asynchat", "smtpd", "pkg_resources")
FRAMEWORKS = ("ryu", "os_ken", "eventlet")
PROGRAM = """
import json, sys
class Refused:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Refused())
from polarlab.cli.main import main
for words in json.loads(sys.argv[1]):
    status = main(words)
    if status:
        sys.exit(f"{{words}}: {{status}}")
"""


def run(lines, names, folder):
    """Runs command lines one after another in a process that cannot import some modules."""
    words = json.dumps([line.split() for line in lines])
    return subprocess.run(
        [
            sys.executable,
            "-W",
            "error::DeprecationWarning:polarlab",
            "-c",
            PROGRAM.format(names=names),
            words,
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


@pytest.mark.usefixtures("compiled_kernels")
def test_all_that_needs_no_fabric_works(tmp_path):
    for name in ("run", "other"):
        result_folders.write_run(tmp_path / name)
    result_folders.write_sweep(tmp_path / "sweep", ("min",), ("uniform",))
    lines = [
        "topology --list",
        "topology polarfly --q 3 --figure er3.png",
        "topology polarstar --q 3 --supernode iq --degree 3 --export graphml star.graphml",
        "verify slimfly --q 5",
        "verify polarfly --q 3 --failures links --routing ugal-pf",
        "predict polarfly --q 3 --hosts 2 --pattern tornado --load 1",
        "explain polarfly --q 3 s3 s7",
        "rules polarfly --q 3 s3",
        "patterns",
        "simulate polarfly --q 2 --cycles 500 --out simulated",
        "plot simulated",
        "report sweep",
        "compare run other",
    ]
    done = run(lines, MININET + FRAMEWORKS, tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="root is missed before Mininet is")
@pytest.mark.skipif(
    shutil.which("mnexec") is None, reason="Mininet's program is missed before its modules are"
)
@pytest.mark.parametrize(
    "line",
    [
        "run polarfly --q 2",
        *repeats(
            "up polarfly --q 2 --exec net",
            "sweep polarfly --q 2 --loads 0.5 --patterns uniform --routings min",
            "demo failover polarfly --q 2",
        ),
    ],
)
def test_fabrics_are_refused_in_one_line(line, tmp_path):
    done = run([line], MININET, tmp_path)
    assert f"{line.split()}: 3" in done.stderr
    assert "find Mininet" in done.stderr
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 2


def test_a_machine_without_mininet_is_examined(tmp_path):
    done = run(["doctor --json"], MININET, tmp_path)
    findings = {one["name"]: one for one in json.loads(done.stdout.splitlines()[0])["findings"]}
    assert not findings["Mininet"]["there"]
    assert "make setup" in findings["Mininet"]["remedy"]
