"""The simulator's kernels, which one process compiles while the others wait, and folders of another user."""

import fcntl
import signal

import pytest
from support.fixtures.file_locks import open_lock_file
from support.fixtures.foreign_folders import AS_ROOT, give, public_folder

from emulation.subprocesses import END_SIGNALS
from topology.files.plugin_files import take_over
from topology.plugins import PYTHON, unregister


@pytest.fixture(scope="session")
def compiled_kernels():
    """Compiles the kernels, or loads them."""
    from support.oracles import kernel_cases  # numba, which most tests do not need

    from simulation.kernels.compiled import cache_folder

    cache_folder().mkdir(parents=True, exist_ok=True)
    with open_lock_file(cache_folder() / ".compiling") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kernel_cases.digests()


@pytest.fixture(autouse=True)
def _own_signals():
    """Handles signals after the test as before it: a command within this process handles them for good."""
    handlers = {number: signal.getsignal(number) for number in END_SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture
def own_names():
    """Takes away, after the test, what plug-ins have registered in this process."""
    yield
    take_over([])
    unregister(PYTHON)


@pytest.fixture
def public():
    """Returns a folder of root's in which everybody may look around."""
    with public_folder() as folder:
        yield folder


@pytest.fixture
def nobodys(public):
    """Returns a folder of nobody's."""
    if AS_ROOT.args[0]:
        pytest.skip(AS_ROOT.kwargs["reason"])
    folder = public / "nobodys"
    folder.mkdir()
    give(folder)
    return folder
