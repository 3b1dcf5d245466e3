"""The choice of a controller framework, and what must not depend on it: encodings, and the end of threads."""

import contextlib
import json
import os
import subprocess
import sys
import threading

import pytest
from support.fixtures.fake_switch import FakeSwitch

from controller.openflow.frameworks import FRAMEWORKS, QUICK_START, VARIABLE, choose
from experiments.live_fabric import live_fabric
from experiments.spec.fabric import FabricOptions
from topology.errors import MachineError, ParameterError, Status
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec

LINKS = LinkSpec(1_000_000, 32)
INSTALLED = [framework.name for framework in FRAMEWORKS.values() if framework.installed]
REMEDY_OF_RYU = "make setup" if sys.version_info < (3, 12) else "only on Python 3.11"
needs_both = pytest.mark.skipif(len(INSTALLED) < 2, reason="only one controller framework is installed")


@pytest.fixture(autouse=True)
def nothing_asked_by_the_environment(monkeypatch):
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture
def without(monkeypatch):
    """Hides a framework's package from the interpreter."""
    return lambda name: monkeypatch.setitem(sys.modules, FRAMEWORKS[name].package, None)


def run_python(code, *words):
    """Runs a script in a process of its own: a process has one framework for its life."""
    command = [sys.executable, "-W", "ignore", "-c", code, *words]
    quick = os.environ | QUICK_START
    return subprocess.run(command, env=quick, capture_output=True, text=True, timeout=60, check=False)


# ---- the choice ----


@needs_both
def test_os_ken_comes_first_and_ryu_takes_its_place_where_it_is_missing(without):
    assert choose().name == "os-ken"
    without("os-ken")
    assert choose().name == "ryu"


@needs_both
def test_a_shell_can_choose_for_all_its_commands_and_an_option_wins(monkeypatch):
    monkeypatch.setenv(VARIABLE, "ryu")
    assert (choose().name, choose("auto").name, choose("os-ken").name) == ("ryu", "ryu", "os-ken")
    monkeypatch.setenv(VARIABLE, "")
    assert choose().name == "os-ken"


@pytest.mark.parametrize(("missing", "remedy"), [("ryu", REMEDY_OF_RYU), ("os-ken", "pip install 'os-ken")])
def test_a_missing_framework_is_refused_with_the_command_that_installs_it(without, missing, remedy):
    without(missing)
    options = FabricOptions("polarfly", {"q": 2}, PolarFly(2), 1, "min", LINKS, "user", framework=missing)
    with (
        pytest.raises(MachineError, match=f"{missing} is not installed.*{remedy}") as raised,
        live_fabric(options, lambda _event: None),
    ):
        pass
    assert "\n" not in str(raised.value)


def test_without_any_framework_the_one_that_pip_installs_is_named(without):
    for name in FRAMEWORKS:
        without(name)
    with pytest.raises(MachineError, match="'os-ken"):
        choose()


@pytest.mark.parametrize("asked", ["osken", "Ryu", "pox"])
def test_an_unknown_framework_is_refused_with_those_that_there_are(asked, monkeypatch):
    for ask in (lambda: choose(asked), lambda: monkeypatch.setenv(VARIABLE, asked) or choose()):
        with pytest.raises(ParameterError, match=f"auto, os-ken, ryu, .*'{asked}'"):
            ask()


def test_the_controller_of_a_missing_framework_ends_with_one_line():
    hidden = "import sys; sys.modules['os_ken'] = None; from controller.service import main; sys.exit(main())"
    done = run_python(hidden, "polarfly", "q=2", "--framework", "os-ken", "--listen", "unix:/nowhere")
    assert (done.returncode, done.stderr.count("\n")) == (Status.MACHINE, 1), done.stderr
    assert json.loads(done.stdout)["event"] == "fatal"


@needs_both
def test_a_process_keeps_its_framework():
    code = (
        "from controller.openflow import frameworks; frameworks.use('os-ken'); frameworks.use('os-ken')\n"
        "import controller.openflow.codec, sys; assert 'ryu' not in sys.modules; frameworks.use('ryu')"
    )
    assert "must be os-ken, got ryu" in run_python(code).stderr


# ---- what is sent ----

ENCODED = """
import hashlib, sys
from controller.openflow import frameworks
frameworks.use(sys.argv[1])
from controller.openflow import codec
from controller.openflow.commands import *
from routing.registry import ROUTINGS, make_plan
from topology.families.low_diameter.polarfly import PolarFly
class Port: hw_addr = "02:00:00:00:00:05"
commands = [AskGroups(), AskRules(), AskPortStatistics(), DropRules(7), SetPortState(5, True), Barrier()]
digest = hashlib.sha256()
for routing, one in ROUTINGS.items():
    if one.families and "polarfly" not in one.families:
        continue
    for switch in make_plan(PolarFly(2), 2, routing).switches:
        commands += [PutGroup(group, exists) for group in switch.groups for exists in (False, True)]
        commands += [PutRule(rule, codec.fingerprint(rule)) for rule in switch.rules]
        digest.update(repr([codec.fingerprint(group) for group in switch.groups]).encode())
messages = [Message(number, command) for number, command in enumerate(commands)]
for version in codec.OPENFLOW_VERSIONS:
    digest.update(codec.encode(messages, {5: Port}, version, 3))
print(len(commands), digest.hexdigest())
"""


@needs_both
def test_both_send_the_same_bytes_and_know_rules_and_groups_by_the_same_fingerprints():
    first, second = (run_python(ENCODED, name) for name in INSTALLED)
    assert first.stdout == second.stdout != "", first.stderr + second.stderr
    assert int(first.stdout.split()[0]) > 1000


# ---- what is loaded ----

# The default controller once a switch has said who it is, and was asked for its rules.
RUNNING = """
import json, sys
from controller import service
from controller.installer import Installer
queries = Installer.connected
def loaded(*arguments):
    queries(*arguments)
    print(json.dumps([sorted(sys.modules)]), flush=True)
    sys.exit()
Installer.connected = loaded
sys.argv = ["service", "polarfly", "q=2", "--listen", "unix:" + sys.argv[1]]
sys.exit(service.main())
"""


def test_the_default_controller_loads_the_parsers_of_os_ken_and_no_event_loop(tmp_path):
    with connecting(tmp_path / "socket"):
        done = run_python(RUNNING, str(tmp_path / "socket"))
    [modules] = json.loads(done.stdout.splitlines()[-1])
    assert {"os_ken.ofproto.ofproto_v1_3_parser"} <= set(modules)
    assert not [name for name in modules if name.partition(".")[0] in ("eventlet", "greenlet", "ryu")]


# ---- the end of an activity ----

# A controller in which something that one of its activities calls fails at its first call.
BROKEN = """
import socket, sys
name, fault, path = sys.argv[1:]
from controller.openflow import frameworks
frameworks.use(name)
runtime = __import__(frameworks.used().runtime, fromlist=["run"])
from controller import app, replanner, service
from controller.adaptation_loop import AdaptiveLoop
from controller.fabric_state import FabricState
def fail(*_, **__):
    raise RuntimeError("broken on purpose")
if fault == "replanning":
    FabricState.tick = fail
elif fault == "adaptation":
    AdaptiveLoop.step = fail
elif fault == "listener":
    socket.socket.accept = fail
elif fault == "connection":
    app.PlanApp.connected = fail
elif fault == "computation":
    app.PlanApp.connected = lambda self, switch: self._replan(0.0)
    replanner.surviving_plan = fail
else:
    start = runtime.RyuApplication.start
    def start_and_lose_a_thread(application):
        start(application)
        if isinstance(application, runtime.Handshake) == (fault == "handshake"):
            runtime.hub.spawn(lambda: application.threads[0].throw(RuntimeError("broken on purpose")))
    runtime.RyuApplication.start = start_and_lose_a_thread
sys.argv = ["service", "polarfly", "q=2", "--listen", f"unix:{path}", "--framework", name]
sys.argv += ["--routing", "ugal-pf", "--link-rate", "1000000"]
sys.exit(service.main())
"""


@contextlib.contextmanager
def connecting(path):
    """A switch that connects once somebody listens, during the block."""
    ended = threading.Event()
    switch = FakeSwitch(path, 1, 4)

    def connect():
        while not ended.wait(0.02):
            with contextlib.suppress(OSError):
                switch.connect()
                ended.wait()
                switch.disconnect()

    thread = threading.Thread(target=connect)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


BOTH = [
    ("replanning", "RuntimeError in the replanning loop: broken on purpose"),
    ("adaptation", "RuntimeError in the adaptive loop: broken on purpose"),
    ("listener", "RuntimeError in the listening socket: broken on purpose"),
    ("connection", "RuntimeError in a switch's connection: broken on purpose"),
    ("computation", "RuntimeError in the replanning loop: broken on purpose"),
]
THREADS_OF_RYU = [(fault, "a thread of the controller ended") for fault in ("application", "handshake")]


@pytest.mark.parametrize(
    ("framework", "fault", "named"),
    [(name, *fault) for name in INSTALLED for fault in BOTH + (THREADS_OF_RYU if name == "ryu" else [])],
)
def test_whatever_fails_ends_the_controller(framework, fault, named, tmp_path):
    with connecting(tmp_path / "socket"):
        done = run_python(BROKEN, framework, fault, str(tmp_path / "socket"))
    last = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, last["event"], last["text"]) == (Status.INTERNAL, "fatal", named), done.stderr
    assert "broken on purpose" in done.stderr  # the log has the reason
