"""The live page's process: what it serves, what it may do, and its end."""

import contextlib
import ipaddress
import json
import os
import queue
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from support.builders.recordings import made_up_recording
from support.builders.result_folders import FAILOVER, write_failover, write_sweep
from support.fixtures.browser import browser, needs_browser
from support.fixtures.documents import ROOT
from support.fixtures.foreign_folders import AS_ROOT, NOBODY
from support.fixtures.taken_over_page import stolen_fd, taken_over, web_processes
from support.fixtures.web_requests import ask

import polarlab
from emulation.hosts.identity import PAGE_NUMBER
from experiments.events.base import ignore
from experiments.observation.recording import read_recording
from polarlab.web.address import WebAddress, parse_address
from polarlab.web.channel import MAX_BYTES
from polarlab.web.events import PageEnded, PageReady, ViewerAwaited
from polarlab.web.live_page import LivePage
from polarlab.web.page_server import PageServer
from topology.errors import MachineError, ParameterError, UsageError


def test_the_page_and_its_files_are_served(client):
    status, headers, body = client("GET", "/")
    assert status == 200
    assert headers["content-type"].startswith("text/html")
    assert b"vendor/uplot.js" in body
    assert client("GET", "/vendor/cytoscape.LICENSE.txt")[0] == 200
    assert client("GET", "/main.js")[1]["content-type"].startswith("text/javascript")
    assert client("GET", "/../setup.cfg")[0] == 404
    assert client("GET", "/%2e%2e/setup.cfg")[0] == 404


def test_a_page_loads_nothing_from_elsewhere(client):
    """The page names no other machine, and the browser would refuse to follow such a name."""
    _, headers, body = client("GET", "/")
    assert b"http:" not in body
    assert b"https:" not in body
    assert headers["content-security-policy"].startswith("default-src 'self'")


def test_finished_results_are_described_and_recorded(client, recorded_run):
    fabric = client.json("/api/fabric")
    assert (fabric["name"], fabric["routers"], len(fabric["links"])) == ("polarfly", 13, 24)
    assert fabric["replay"] == recorded_run.name
    assert fabric["actions"] == ["recording"]
    states = client.json("/api/recording")
    failed = [state["failed"] for state in states]
    assert failed[0] == []
    assert ["link:s1-s10", "controller"] in failed
    assert failed[-1] == []
    dead = next(state for state in states if "link:s1-s10" in state["failed"])
    [link] = [link for link in fabric["links"] if link["name"] == "s1-s10"]
    assert dead["down"] == sorted(link["directions"])


def test_programs_get_the_last_state_of_a_replay(client):
    assert client.json("/api/state") == client.json("/api/recording")[-1]
    assert any("fail link:s1-s10" in entry["text"] for entry in client.json("/api/timeline"))
    assert b'polarlab_link_up{link="s1-s10",from="s1",to="s10"} 1.0' in client("GET", "/metrics")[2]


def test_what_an_older_folder_lacks_is_said(tmp_path, recorded_run):
    folder = tmp_path / "old"
    folder.mkdir()
    for path in recorded_run.iterdir():
        if path.is_file() and path.name not in ("links.csv", "throughput.csv"):
            (folder / path.name).write_bytes(path.read_bytes())
    recording = read_recording(folder)
    assert [text.partition(":")[0] for text in recording.description.lacks] == ["links.csv", "throughput.csv"]
    assert {entry.kind for entry in recording.entries} == {"fabric"}  # files that are missing are no events


@pytest.mark.parametrize(
    ("method", "path", "status", "words"),
    [
        ("GET", "/api/states", 404, "nothing is at /api/states; /openapi.json lists all paths"),
        ("GET", "/api/fail", 405, "method must be POST, got GET"),
    ],
)
def test_paths_and_methods_that_do_not_exist_are_told(client, method, path, status, words):
    answer = client(method, path)
    assert (answer[0], json.loads(answer[2])) == (status, {"error": words})


def test_actions_on_finished_results_are_refused(client):
    status, _, body = client("POST", "/api/fail", {"elements": "link:s1-s10"})
    assert status == 409
    assert "replayed" in json.loads(body)["error"]


@AS_ROOT
def test_the_web_process_has_no_rights(replay):
    [process] = web_processes()
    assert process.uids().real == process.uids().effective == process.uids().saved == PAGE_NUMBER
    assert process.gids().real == PAGE_NUMBER
    status = Path(f"/proc/{process.pid}/status").read_text()
    assert "NoNewPrivs:\t1" in status
    assert "Seccomp:\t2" in status
    assert "CapEff:\t0000000000000000" in status
    assert f"NSpid:\t{process.pid}\t1\n" in status  # it has no numbers for other processes


GIVEN_UP = """
import os, sys
from polarlab.web.service.privileges import drop_privileges
drop_privileges()
os.kill(int(sys.argv[1]), 0)
"""


def test_the_root_folder_of_the_page_is_not_made_in_a_folder_of_others(nobodys):
    """Its owner could exchange it for another before it is entered."""
    before = nobodys.stat().st_mtime_ns
    code = f"import tempfile\ntempfile.tempdir = {str(nobodys)!r}" + GIVEN_UP.rpartition("os.kill")[0]
    subprocess.run([sys.executable, "-c", code], check=True)
    assert nobodys.stat().st_mtime_ns == before


UNSAFE = """
from polarlab.web.service import privileges
from topology.errors import MachineError

def temporary_folder():
    raise MachineError("others can change /tmp")

privileges.temporary_folder = temporary_folder
privileges.drop_privileges()
"""


@AS_ROOT
def test_a_web_process_without_a_folder_for_its_root_ends_with_a_line():
    done = subprocess.run([sys.executable, "-c", UNSAFE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "others can change /tmp\n")


@AS_ROOT
def test_nobodys_processes_and_the_page_s_are_apart(replay):
    """Processes of one user can signal one another, and take one another's memory and open files."""
    [process] = web_processes()
    nobodys = ["setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups"]
    attack = subprocess.run(
        [*nobodys, "kill", "-0", str(process.pid)], capture_output=True, text=True, check=False
    )
    assert "not permitted" in attack.stderr
    with subprocess.Popen([*nobodys, "cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as theirs:
        theirs.stdin.write(b"x")
        theirs.stdin.flush()
        assert theirs.stdout.read(1) == b"x"  # it is nobody's by now
        words = [sys.executable, "-c", GIVEN_UP, str(theirs.pid)]
        attack = subprocess.run(words, capture_output=True, text=True, check=False)
        assert "PermissionError" in attack.stderr
        theirs.stdin.close()


SPOILT = """
import socket
from polarlab.web.service.privileges import drop_privileges
listener = socket.create_server(("127.0.0.1", 0))
drop_privileges()
listener.setsockopt(socket.IPPROTO_IP, 21, 255)  # IP_MINTTL
"""


def test_the_web_process_cannot_spoil_its_listening_socket():
    attack = subprocess.run([sys.executable, "-c", SPOILT], capture_output=True, text=True, check=False)
    assert "PermissionError" in attack.stderr


GREEDY = """
import ctypes
from polarlab.web.service.privileges import drop_privileges
drop_privileges()
map = ctypes.CDLL(None).mmap
map.restype, map.argtypes = ctypes.c_ssize_t, [ctypes.c_ssize_t] * 6
for protection, flags in ((3, 0x22), (3, 0x122), (1, 0x4022)):  # private, MAP_GROWSDOWN, MAP_NORESERVE
    print([map(0, 1 << 30, protection, flags, -1, 0) > 0 for _ in range(3)][-1])
"""


def test_no_kind_of_memory_of_the_web_process_is_without_limit():
    attack = subprocess.run([sys.executable, "-c", GREEDY], capture_output=True, text=True, check=False)
    assert attack.stdout == "False\n" * 3


STRAY = """
import ctypes
from polarlab.web.service.privileges import drop_privileges
drop_privileges()
print(ctypes.CDLL(None).prctl(1, 0, 0, 0, 0))  # PR_SET_PDEATHSIG
"""


def test_the_web_process_cannot_give_its_end_up():
    attack = subprocess.run([sys.executable, "-c", STRAY], capture_output=True, text=True, check=False)
    assert attack.stdout == "-1\n"


THREADED = """
import threading, time
from polarlab.web.service.privileges import drop_privileges
threading.Thread(target=time.sleep, args=[60], daemon=True).start()
drop_privileges()
"""


def test_privileges_are_not_dropped_by_one_of_two_threads():
    """The other one would keep them."""
    refused = subprocess.run([sys.executable, "-c", THREADED], capture_output=True, text=True, check=False)
    assert refused.returncode == 1
    assert len(refused.stderr.splitlines()) == 1


# A machine whose name only a name server knows, which never answers.
SLOWLY_NAMED = """
import os, socket, sys
from support.fixtures.taken_over_page import web_processes
from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer
silent = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
silent.bind(("127.0.0.1", 53))
with PageServer(WebAddress("0.0.0.0", 0)) as page:
    [process] = web_processes()
    print(process.num_threads(), flush=True)
os._exit(0)  # the lookup continues
"""


@AS_ROOT
def test_the_web_process_has_one_thread_however_slow_its_machine_s_name_is_looked_up(tmp_path):
    (tmp_path / "hosts").write_text("127.0.0.1 localhost\n")
    (tmp_path / "resolv.conf").write_text("nameserver 127.0.0.1\noptions timeout:10\n")
    script = """
ip link set lo up
mount --bind hosts /etc/hosts
mount --bind resolv.conf /etc/resolv.conf
hostname slowly-named
exec "$@"
"""
    machine = ["unshare", "--net", "--mount", "--uts", "sh", "-ec", script, "machine"]
    done = subprocess.run(
        [*machine, sys.executable, "-c", SLOWLY_NAMED],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "1\n"


# A page in a process of its own, whose web process is stopped, as whoever takes it over could leave it.
STOPPED = """
import signal, sys
from support.fixtures.taken_over_page import web_processes
from polarlab.web.address import WebAddress
from polarlab.web.page_server import PageServer
with PageServer(WebAddress("127.0.0.1", 0)) as page:
    [process] = web_processes()
    process.send_signal(signal.SIGSTOP)
    print(process.pid, flush=True)
    sys.stdin.read()
"""


def test_a_web_process_that_is_stopped_ends_with_the_process_that_is_killed():
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"}
    words = [sys.executable, "-c", STOPPED]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(words, env=environment, **pipes) as starter:
        page = psutil.Process(int(starter.stdout.readline()))
        starter.kill()
    try:
        page.wait(20)
    except psutil.TimeoutExpired:
        page.kill()
        raise


def test_a_web_process_outlives_the_thread_that_has_started_it(client):
    page = PageServer(WebAddress("127.0.0.1", 0))
    thread = threading.Thread(target=page.__enter__)
    thread.start()
    thread.join()
    with contextlib.closing(contextlib.ExitStack()) as opened:
        opened.push(page)
        time.sleep(0.2)  # in which the kernel would end it
        assert type(client)(page)("GET", "/")[0] == 200


def test_a_port_that_is_taken_is_one_line_before_anything_starts(replay):
    before = len(web_processes())
    with pytest.raises(MachineError, match=f"127.0.0.1:{replay.port} .*; choose another port"):
        PageServer(WebAddress("127.0.0.1", replay.port))
    assert len(web_processes()) == before


def test_the_process_ends_with_its_page(recorded_run):
    with polarlab.watch(recorded_run, web=None) as url:
        port = urlsplit(url).port
        assert len(web_processes()) >= 1
        before = {process.pid for process in web_processes()}
        assert socket.create_connection(("127.0.0.1", port), 5).close() is None
    assert before - {process.pid for process in web_processes()}
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), 5)


def test_a_web_process_that_is_killed_is_told_and_started_again_if_asked(client):
    events = []
    before = {process.pid for process in web_processes()}
    with PageServer(WebAddress("127.0.0.1", 0), events.append) as page:
        [own] = [process for process in web_processes() if process.pid not in before]
        own.send_signal(signal.SIGKILL)
        deadline = time.monotonic() + 20
        while not any(isinstance(event, PageEnded) for event in events):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        for _ in range(100):
            page.timeline.add("fabric", "goes on")
        for _ in range(20):  # asked twice, it is started once
            assert page.restart() == page.url
        [again] = [process for process in web_processes() if process.pid not in before]
        assert again.pid != own.pid
        ask = type(client)(page)
        assert [entry["text"] for entry in timeline_of(ask, 100)] == ["goes on"] * 100
        assert ask("GET", "/api/state")[0] == 503  # no fabric is up
    assert [type(event) for event in events] == [PageReady, PageEnded, PageReady]
    assert "the fabric continues" in str(events[1])


def test_nobody_can_take_the_port_while_no_web_process_runs(replay):
    before = {process.pid for process in web_processes()}
    with PageServer(WebAddress("127.0.0.1", 0)) as page:
        [own] = [process for process in web_processes() if process.pid not in before]
        own.kill()
        own.wait(20)
        with socket.socket() as other:
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with pytest.raises(OSError, match="in use"):
                other.bind(("127.0.0.1", page.port))
        with socket.create_connection(("127.0.0.1", page.port), 20) as waiting:
            waiting.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            page.restart()
            assert waiting.recv(100).startswith(b"HTTP/1.1 401")


@AS_ROOT
def test_a_web_process_that_has_given_the_port_up_is_started_again_at_it(client):
    before = {process.pid for process in web_processes()}
    with PageServer(WebAddress("127.0.0.1", 0)) as page:
        [own] = [process for process in web_processes() if process.pid not in before]
        with stolen_fd(own, int(own.cmdline()[-2])) as fd, socket.socket(fileno=os.dup(fd)) as listener:
            listener.shutdown(socket.SHUT_RDWR)
        own.kill()
        own.wait(20)
        assert page.restart() == page.url
        assert type(client)(page)("GET", "/")[0] == 200


def test_a_replay_that_is_started_again_is_told_again(client, recorded_run):
    before = {process.pid for process in web_processes()}
    with PageServer(WebAddress("127.0.0.1", 0)) as page:
        page.replay(read_recording(recorded_run))
        ask, count = type(client)(page), len(read_recording(recorded_run).entries)
        told = timeline_of(ask, count)
        [own] = [process for process in web_processes() if process.pid not in before]
        own.kill()
        own.wait(20)
        page.restart()
        assert timeline_of(ask, count) == told
        assert ask.json("/api/fabric")["replay"] == recorded_run.name


def test_a_page_that_is_started_again_while_it_ends_leaves_no_thread(client):
    """The end of a queue of requests waits in it, behind one in progress."""
    made_up, free, acting = made_up_recording("polarfly", {"q": 2}), threading.Event(), queue.Queue()
    recording = replace(made_up, description=replace(made_up.description, points=("one", "other")))

    def read(_point):
        acting.put(threading.current_thread())
        free.wait(30)
        return recording

    before = {process.pid for process in web_processes()}
    page = PageServer(WebAddress("127.0.0.1", 0)).__enter__()
    page.replay(recording, read)

    def request():
        with contextlib.suppress(OSError):  # its web process is killed
            while type(client)(page)("POST", "/api/point", {"point": "other"})[0] != 200:
                time.sleep(0.01)  # the page does not know its results yet

    threading.Thread(target=request).start()
    thread = acting.get(timeout=20)
    [own] = [process for process in web_processes() if process.pid not in before]
    own.kill()
    own.wait(20)
    ending = threading.Thread(target=page.__exit__)
    ending.start()
    time.sleep(0.2)  # until it waits for the thread
    page.restart()
    free.set()
    thread.join(10)
    ended = not thread.is_alive()
    ending.join(20)
    page.__exit__()  # the process that was started again
    assert ended


def test_results_that_are_too_long_for_the_page_do_not_end_it(client, recorded_run):
    """Results of others say how many states they have, and how long their texts are."""
    recording = read_recording(recorded_run)
    long = "x" * (MAX_BYTES // 2)
    states = tuple(replace(state, headline=long) for state in recording.states[:2])
    entries = (replace(recording.entries[0], text=2 * long),)
    described = replace(recording, description=replace(recording.description, points=(2 * long,)))
    with PageServer(WebAddress("127.0.0.1", 0)) as page:
        ask = type(client)(page)
        page.replay(replace(recording, states=states, entries=entries))
        with pytest.raises(UsageError, match="64 MiB"):
            page.replay(described)
        assert len(timeline_of(ask, 1)[0]["text"]) < 10_000
        status, _, body = ask("GET", "/api/recording")
        assert status == 400
        assert "64 MiB" in json.loads(body)["error"]
        assert ask.json("/api/fabric")["points"] == []


def test_another_point_of_a_sweep_is_shown(tmp_path):
    folder = write_sweep(tmp_path / "sweep", ["min", "ugal-pf"], ["tornado"])
    with polarlab.watch(folder, web=None) as url:
        fabric = asked(url, "GET", "api/fabric", lambda body: body.get("point"))
        assert fabric["point"] == fabric["points"][0]
        other = fabric["points"][-1]
        assert ask(url, "POST", "api/point", {"point": other})[0] == 200
        fabric = asked(url, "GET", "api/fabric", lambda body: body["point"] == other)
        assert fabric["routing"] == "ugal-pf"
        [state] = ask(url, "GET", "api/recording")[1]
        assert max(state["load"]) > 0
        assert state["traffic"]["load"] == 1
        wrong = ask(url, "POST", "api/point", {"point": "../../etc"})
        assert wrong[0] == 400
        assert asked(url, "GET", "api/fabric", bool)["point"] == other


def test_waiting_requests_of_a_web_process_end_with_it(client):
    """They neither run nor keep those of the next process waiting, which gets no answers to them."""
    made_up = made_up_recording("polarfly", {"q": 2})
    recording = replace(made_up, description=replace(made_up.description, points=("one", "other")))
    shown, ended, begun, proceeds = [], [], threading.Event(), threading.Event()

    def read(point):
        shown.append(point)
        begun.set()
        assert proceeds.wait(20)
        return recording

    before = {process.pid for process in web_processes()}
    with PageServer(WebAddress("127.0.0.1", 0), ended.append) as page:
        [own] = [process for process in web_processes() if process.pid not in before]
        page.replay(recording, read)
        with taken_over(own) as channel:
            for number in range(1, 60):
                ask_one = {"type": "ask", "number": number % 3 + 1, "action": "show-point"}
                channel.send(json.dumps({**ask_one, "arguments": {"point": "one"}}).encode() + b"\n")
            assert begun.wait(20)
            channel.send(b"broken\n")
            deadline = time.monotonic() + 20
            while not any(isinstance(event, PageEnded) for event in ended):
                assert time.monotonic() < deadline
                time.sleep(0.01)
        page.restart()
        threading.Timer(0.3, proceeds.set).start()
        assert [type(client)(page)("POST", "/api/point", {"point": "other"})[0] for _ in range(2)] == [
            200
        ] * 2
    assert shown == ["one", "other", "other"]


def test_a_flood_of_standard_error_is_received_slowly_and_beyond_the_page_s_end():
    """Whoever takes the process over may print without end, and keep the stream open."""
    before = {process.pid for process in web_processes()}
    written = 0
    with contextlib.ExitStack() as stack:
        with PageServer(WebAddress("127.0.0.1", 0)):
            [own] = [process for process in web_processes() if process.pid not in before]
            stream = stack.enter_context(stolen_fd(own, 2))
            os.set_blocking(stream, False)
            deadline = time.monotonic() + 1
            while time.monotonic() < deadline:
                try:
                    written += os.write(stream, b"x" * 4096)
                except BlockingIOError:
                    time.sleep(0.001)
        assert written < 2 << 20
        os.write(stream, b"x")
    time.sleep(0.3)  # in which its thread ends, without an error


def test_enter_in_the_terminal_ends_the_wait_for_a_viewer(monkeypatch):
    terminal, own = os.openpty()
    told = []
    with open(own) as typed, PageServer(WebAddress("127.0.0.1", 0), told.append) as page:
        monkeypatch.setattr(sys, "stdin", typed)
        os.write(terminal, b"\n")
        page.wait_for_viewer()
    os.close(terminal)
    assert ViewerAwaited(terminal=True) in told


def asked(url, method, path, holds):
    """Returns the answer to a request once something holds for it."""
    deadline = time.monotonic() + 20
    while not holds(body := ask(url, method, path)[1]):
        assert time.monotonic() < deadline, body
        time.sleep(0.01)
    return body


def test_a_page_that_shows_what_was_just_measured_begins_at_its_end(tmp_path):
    folder = write_failover(tmp_path / "demo", replace(FAILOVER, restored=True))
    with PageServer(WebAddress("127.0.0.1", 0)) as page:
        page.timeline.add("fabric", "up")
        LivePage(page, ignore).replay(folder)
        fabric = asked(page.url, "GET", "api/fabric", lambda body: body and body.get("replay"))
        states = ask(page.url, "GET", "api/recording")[1]
        assert fabric["shown_first"] == len(states) - 1
        assert states[-1]["headline_level"] == "good"
        assert "19 packets" in states[-1]["headline"]
        entries = asked(page.url, "GET", "api/timeline", lambda body: len(body) == 5)
        assert "up" not in [entry["text"] for entry in entries]
        [during] = [state for state in states if state["time_s"] == 4.0]
        assert during["failed"] == ["switch:s4"]
        assert during["headline_level"] == "repaired"
        assert all("s4" not in path for path in during["around"])
        assert during["around"]


def timeline_of(ask, entries):
    """Returns the timeline once the process, which may answer before it is told, has so many entries."""
    deadline = time.monotonic() + 20
    while len(found := ask.json("/api/timeline")) < entries:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)
    return found


@pytest.mark.parametrize("text", ["x", "70000", "a:b", "localhost:", "1:2:3", "[::1]"])
def test_what_is_not_an_address_is_told(text):
    with pytest.raises(ParameterError, match=r"^--web .*\[HOST:\]PORT"):
        parse_address(text)


def test_addresses_are_read():
    assert (parse_address("").host, parse_address(True).port) == ("127.0.0.1", 8642)
    assert parse_address("8080").port == 8080
    assert parse_address("[::1]:80").host == "::1"
    assert len(parse_address("localhost:80").token) >= 32
    assert parse_address("localhost:80", open_to_all=True).token == ""
    assert len(parse_address("0.0.0.0:80").token) >= 32


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0", "::"])
def test_the_printed_address_is_one_on_which_the_page_listens(host):
    """A name may have further addresses, at which another user may listen for the token."""
    try:
        with PageServer(WebAddress(host, 0)) as page:
            printed = ipaddress.ip_address(urlsplit(page.url).hostname)
            assert not printed.is_unspecified
            assert ask(page.url.replace("/?", "?"), "GET", "/api/timeline")[0] == 200
    except MachineError:
        assert host == "::"  # a machine without IPv6


def test_tls_needs_both_files(tmp_path):
    with pytest.raises(ParameterError, match="together"):
        parse_address("80", certificate=tmp_path / "x")
    with pytest.raises(ParameterError, match=r"^--web-certificate"):
        parse_address("80", tmp_path / "x", tmp_path / "y")


def test_a_page_with_a_certificate_is_encrypted(certificate):
    with PageServer(WebAddress("localhost", 0, *certificate)) as page:
        trusted = ssl.create_default_context(cafile=str(certificate[0]))
        assert page.url.startswith("https://localhost:")
        # The page answers at once; what the fabric is, it is told a moment later.
        link = page.url.replace("/?", "/openapi.json?")
        with urllib.request.urlopen(link, context=trusted, timeout=10) as answer:
            assert "/api/fabric" in json.load(answer)["paths"]


def test_a_wrong_certificate_is_one_line(tmp_path, capfd):
    wrong = tmp_path / "wrong.pem"
    wrong.write_text("nothing")
    with (
        pytest.raises(MachineError, match="certificate"),
        PageServer(WebAddress("127.0.0.1", 0, wrong, wrong)),
    ):
        pass
    assert "Traceback" not in capfd.readouterr().err


@needs_browser
def test_a_finished_run_is_replayed_in_a_browser(recorded_run):
    with polarlab.watch(recorded_run, web=None) as url, browser() as page:
        page.open(url)
        assert "replay of run" in page.text("facts")
        page.wait(lambda: page.text("connection") == "replay")
        assert page.run("return document.getElementById('slider').hidden") is False
        places = page.wait(lambda: page.run("return Number(document.getElementById('moment').max)"))
        assert places > 10
        page.run(
            "const slider = document.getElementById('moment');"
            "slider.value = arguments[0]; slider.dispatchEvent(new Event('input'))",
            int(places * 0.3),
        )
        page.wait(lambda: page.dead() == {"s1-s10"})
        assert "s1-s10 failed" in page.text("headline")
        assert "✕ s1-s10 failed" in page.text("marks")
        assert page.text("controller-state").endswith("s1-s10")
        around = page.run("return cy.edges('.around').map((one) => one.data('name'))")
        assert len(around) == 2
        assert "s1-s10" not in around
        page.find("s1-s10")  # a failed link stays red when it is selected
        look = "const one = cy.$('edge.dead'); return ['line-color', 'overlay-color', 'line-style']"
        colour, overlay, line = page.run(f"{look}.map((name) => one.style(name))")
        assert colour == overlay == rgb(page, "--dead")
        assert line == "solid"  # dashes are for drained links
        size = page.run("return parseFloat(getComputedStyle(document.getElementById('headline')).fontSize)")
        assert size >= 24
        assert shown(page, "restore link:s1-s10") is False  # later events are not listed
        page.run(
            "const slider = document.getElementById('moment');"
            "slider.value = 0; slider.dispatchEvent(new Event('input'))"
        )
        page.wait(lambda: not page.dead())
        assert shown(page, "fail link:s1-s10") is False
        page.press("play", within="slider")
        page.wait(lambda: page.dead() == {"s1-s10"})
        assert page.errors() == []


def rgb(page, variable):
    """Returns a colour of the style sheet in the form of the drawing."""
    script = "const at = document.createElement('i'); at.style.color = `var(${arguments[0]})`;"
    script += "document.body.append(at); const found = getComputedStyle(at).color; at.remove(); return found"
    return page.run(script, variable).replace(" ", "")


def shown(page, text):
    """Returns whether an event is listed; None if the page does not know it."""
    script = "return [...document.querySelectorAll('#entries li')].filter((one) => one.textContent.includes("
    found = page.run(f"{script}arguments[0])).map((one) => !one.hidden)", text)
    return found[0] if found else None


@needs_browser
def test_a_large_fabric_is_drawn_whole():
    """ER_13 with 1,274 links: all of them are drawn, and one is found by its name."""
    with PageServer(WebAddress("127.0.0.1", 0)) as server, browser() as page:
        server.replay(made_up_recording("polarfly", {"q": 13}))
        page.open(server.url)
        assert page.run("return cy.edges().length") == 1274
        name = page.run("return cy.edges()[700].data('name')")
        page.find(name)
        page.wait(lambda: "load" in page.text("selected-text"))
        assert page.text("selected-name") == f"link {name}"
        page.press("play", within="slider")
        page.wait(lambda: page.text("moment-text") not in ("0.0 s", ""))
        lit = "const links = document.getElementById('links'), at = links.getContext('2d');"
        lit += "return at.getImageData(0, 0, links.width, links.height).data.some((value) => value)"
        assert page.run(lit)
        assert page.errors() == []
