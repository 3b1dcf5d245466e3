"""The filter of system calls: each refused call is made by a process that has it."""

import platform
import subprocess
import sys

import pytest

from emulation.kernel.system_calls import number

pytestmark = pytest.mark.skipif(
    platform.machine() not in ("x86_64", "aarch64", "riscv64"), reason="no filter for this architecture"
)
PRELUDE = """
import ctypes, errno, fcntl, mmap, os, signal, socket, struct, subprocess, sys, threading, time
from emulation.kernel.system_call_filter import filter_calls
from emulation.kernel.system_calls import number
from emulation.kernel.system_calls import set_no_new_privileges

libc = ctypes.CDLL(None, use_errno=True)
set_no_new_privileges()

def made(name, *arguments):
    ctypes.set_errno(0)
    libc.syscall(number(name) if isinstance(name, str) else name, *map(ctypes.c_long, arguments))
    return errno.errorcode.get(ctypes.get_errno())
"""
ON_HOSTS, OF_THE_PAGE = "filter_calls()", "filter_calls(of_the_page=True)"


def printed(setting, code):
    """Returns what code prints in a process with a filter."""
    words = [sys.executable, "-c", f"{PRELUDE}\n{setting}\n{code}"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.split()


@pytest.mark.parametrize("setting", [ON_HOSTS, OF_THE_PAGE])
def test_calls_that_reach_beyond_a_host_are_refused(setting):
    code = """
print(made("unshare", 0x2000000))
print(made("clone", 0x2000000 | 17, 0, 0, 0, 0))
print(made("clone3", 0, 0))
print(made("add_key", 0, 0, 0, 0, 0), made("request_key", 0, 0, 0, 0), made("keyctl", 0, -4, 0))
print(made("socket", 40, 1, 0))
print(made("io_uring_setup", 1, 0), made("io_uring_enter", 0, 0, 0, 0), made("io_uring_register", 0, 0, 0, 0))
"""
    unknown = "ENOSYS"
    assert printed(setting, code) == ["EPERM"] * 2 + [unknown] * 4 + ["EPERM"] + [unknown] * 3


def test_files_of_others_are_not_leased_or_watched_by_signals():
    code = """
file, folder = os.open(sys.executable, os.O_RDONLY), os.open("/", os.O_RDONLY)
print(made("fcntl", file, fcntl.F_SETLEASE, fcntl.F_RDLCK), made("fcntl", folder, fcntl.F_NOTIFY, 1))
print(made("fcntl", file, fcntl.F_GETFD))
"""
    assert printed(ON_HOSTS, code) == ["EPERM", "EPERM", "None"]


def test_no_process_is_traced_to_its_end():
    """Neither as tracing begins nor later; other options stay."""
    code = """
child = os.fork()
if child == 0:
    signal.pause()
print(made("ptrace", 0x4206, child, 0, 0x40), made("ptrace", 0x4206, child, 0, 0x10 | 0x40))
print(made("ptrace", 0x4206, child, 0, 0x10))
print(made("ptrace", 0x4207, child, 0, 0))
os.waitpid(child, 0)
print(made("ptrace", 0x4200, child, 0, 0x40), made("ptrace", 21, child, 0, 0x40))
os.kill(child, signal.SIGKILL)
os.waitpid(child, 0)
"""
    assert printed(ON_HOSTS, code) == ["EPERM", "EPERM", "None", "None", "EPERM", "EPERM"]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the machine has one architecture")
def test_calls_of_other_architectures_are_unknown():
    """By numbers of x32, and by int 0x80, of which 20 is getpid."""
    code = """
print(made(0x40000000 + 39))
code = bytes.fromhex("b814000000cd80c3")
memory = mmap.mmap(-1, len(code), mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
memory.write(code)
place = ctypes.addressof(ctypes.c_char.from_buffer(memory))
print(errno.errorcode[-ctypes.CFUNCTYPE(ctypes.c_int)(place)()])
"""
    assert printed(ON_HOSTS, code) == ["ENOSYS"] * 2


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the numbers are those of x86_64")
def test_the_page_makes_only_the_calls_that_it_needs():
    """Whatever their arguments: for it there are no files, processes, memory of others, or new sockets."""
    code = """
needed = {0, 1, 3, 5, *range(7, 17), 19, 20, 24, 25, 28, 35, 39, *range(43, 48), 51, 52, 54, 55, 60, 72, 96}
needed |= {98, 102, 104, 107, 108, 110, 131, 186, 201, 202, 204, 219, *range(228, 235), 271, 273, 281, 288}
needed |= {302, 318, 334, 441}
of_the_kernel = {335, 336}  # for its probes alone: they end others by SIGILL
print(*{made(one, 0, 0, 0, 0, 0) for one in range(600) if one not in needed | of_the_kernel})
print(made("mmap", 0, 4096, 3, 0x21, -1, 0), made("mmap", 0, 4096, 3, 0x23, -1, 0))
print(made("fcntl", 1, 1031, 1 << 20), made("fcntl", 1, 8, 1), made("ioctl", 0, 0x5412, 0))
print(made("tgkill", os.getppid(), os.getppid(), 0), made("prlimit64", os.getppid(), 7, 0, 0))
"""
    assert set(printed(OF_THE_PAGE, code)) == {"EPERM", "ENOSYS"}  # of calls that hosts must not make either


def test_the_page_does_not_learn_which_processes_run():
    """Neither by affinities, nor by clocks of processes, nor by locks that others seem to hold."""
    code = """
word = ctypes.create_string_buffer(256)
def answers(process):
    word[:4] = struct.pack("=i", process)
    clock = (~process << 3) | 2
    yield made("sched_getaffinity", process, 128, ctypes.addressof(word))
    yield made("clock_gettime", clock, ctypes.addressof(word) + 16)
    yield made("clock_getres", clock, ctypes.addressof(word) + 16)
    yield made("clock_nanosleep", clock, 1, ctypes.addressof(word) + 16, 0)
    for operation in (6, 7, 8, 11, 12, 13):
        yield made("futex", ctypes.addressof(word), operation | 128, 0, 0, ctypes.addressof(word), 0)
print(*{answer for process in (os.getppid(), 1, (1 << 22) + 1) for answer in answers(process)})
lock = threading.Lock()
print(len(os.sched_getaffinity(0)) > 0, time.process_time() > 0)
print(*[lock.acquire(timeout=0.01) for _ in range(2)])
"""
    assert printed(OF_THE_PAGE, code) == ["EPERM", "True", "True", "True", "False"]


def test_a_listening_socket_cannot_be_spoilt_for_the_next_process_that_serves_at_it():
    """By options that drop all packets, its end or its address; meanwhile it is served."""
    listener = "listener = socket.create_server(('127.0.0.1', 0)); other = socket.socket()"
    listener += "\nclient = socket.create_connection(listener.getsockname())"
    code = """
drop = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0), 8)
program = struct.pack("HxxxxxxP", 1, ctypes.addressof(drop))
def refused(act, *arguments):
    try:
        act(*arguments)
    except PermissionError:
        return "refused"
print(refused(listener.setsockopt, socket.SOL_SOCKET, 26, program))
print(refused(listener.setsockopt, socket.IPPROTO_IP, 21, 255))
print(refused(listener.setsockopt, socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, 100))
print(refused(listener.setsockopt, socket.SOL_SOCKET, socket.TCP_NODELAY, 1))
print(refused(listener.listen, 0), refused(listener.shutdown, socket.SHUT_RDWR))
print(refused(other.bind, ("127.0.0.1", 0)), refused(other.connect, listener.getsockname()))
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
connection.send(b"served")
print(client.recv(6).decode())
"""
    assert printed(f"{listener}\n{OF_THE_PAGE}", code) == ["refused"] * 8 + ["served"]


@pytest.mark.parametrize("setting", [ON_HOSTS, OF_THE_PAGE])
def test_what_programs_need_stays(setting):
    """Memory, connected sockets, and signals to oneself."""
    begun = f"one, other = socket.socketpair(); {setting}"
    code = """
mmap.mmap(-1, 4096, mmap.MAP_PRIVATE)
one.send(b"pair")
print(other.recv(4).decode())
signal.signal(signal.SIGTERM, lambda *_: print("signal"))
signal.raise_signal(signal.SIGTERM)
"""
    assert printed(begun, code) == ["pair", "signal"]


def test_files_and_processes_of_its_user_are_out_of_the_page_s_reach(tmp_path):
    """`polarlab watch` needs no root, so its page runs as the user who started it."""
    (tmp_path / "file").write_text("the user's")
    code = f"""
file, new, folder = {str(tmp_path / "file")!r}, {str(tmp_path / "new")!r}, {str(tmp_path)!r}
def refused(act, *arguments):
    try:
        act(*arguments)
    except PermissionError:
        return "refused"
acts = [(open, file), (os.stat, file), (os.unlink, file), (os.rename, file, new), (os.chmod, file, 0o777)]
acts += [(os.symlink, file, new), (os.mkdir, new), (os.rmdir, folder), (os.truncate, file, 0)]
acts += [(os.utime, file), (os.listdir, folder), (os.execv, "/bin/true", ["true"]), (os.chdir, "/")]
acts += [(os.getxattr, file, "user.x"), (os.kill, os.getppid(), 0), (os.setpriority, 0, os.getppid(), 5)]
acts += [(socket.socketpair,), (fcntl.fcntl, 1, fcntl.F_SETOWN, os.getppid()), (os.fork,)]
print(*{{refused(*act) for act in acts}})
"""
    assert printed(OF_THE_PAGE, code) == ["refused"]
    assert (tmp_path / "file").read_text() == "the user's"


def test_the_page_sends_and_receives_no_urgent_data():
    code = """
def refused(act, *arguments):
    try:
        act(*arguments)
    except PermissionError:
        return "refused"
urgent = socket.MSG_OOB
print(refused(one.send, b"x", urgent), refused(one.sendmsg, [b"x"], [], urgent))
print(refused(other.recv, 1, urgent), refused(other.recvmsg, 1, 0, urgent))
"""
    begun = f"one, other = socket.socketpair(); {OF_THE_PAGE}"
    assert printed(begun, code) == ["refused"] * 4


def test_threads_of_the_page_that_run_already_are_filtered():
    code = """
def wait():
    filtered.wait()
    print(made("unshare", 0), made("socket", 2, 1, 0))
"""
    begun = f"{code}\nfiltered = threading.Event(); thread = threading.Thread(target=wait); thread.start()"
    assert printed(f"{begun}\n{OF_THE_PAGE}", "filtered.set(); thread.join()") == ["EPERM"] * 2


def test_on_hosts_files_and_processes_stay(tmp_path):
    code = f"""
open({str(tmp_path / "file")!r}, "w").close()
thread = threading.Thread(target=print, args=["thread"])
thread.start()
thread.join()
print(subprocess.run(["echo", "process"], capture_output=True, text=True).stdout)
"""
    assert printed(ON_HOSTS, code) == ["thread", "process"]


def test_on_hosts_sockets_and_shared_memory_stay():
    code = """
for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_NETLINK):
    socket.socket(family, socket.SOCK_DGRAM).close()
mmap.mmap(-1, 4096, mmap.MAP_SHARED)
os.close(os.memfd_create("x"))
print("done")
"""
    assert printed(ON_HOSTS, code) == ["done"]


def test_an_unknown_architecture_is_an_error_in_words(monkeypatch):
    monkeypatch.setattr(platform, "machine", lambda: "vax")
    with pytest.raises(OSError, match="vax"):
        number("keyctl")
