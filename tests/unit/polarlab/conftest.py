"""A machine that can launch nothing: what tests of the command line have in common."""

import signal

import pytest

import emulation.requirements
from emulation.subprocesses import END_SIGNALS
from topology.errors import MachineError


@pytest.fixture(autouse=True)
def no_fabric(monkeypatch):
    """No test of this folder launches anything, whoever runs it; signals stay as they were."""

    def refuse() -> None:
        raise MachineError("this test has no machine")

    monkeypatch.setattr(emulation.requirements, "require_emulation", refuse)
    monkeypatch.setattr(emulation.requirements, "require_root", refuse)
    handlers = {number: signal.getsignal(number) for number in END_SIGNALS}
    yield
    for number, handler in handlers.items():
        signal.signal(number, handler)
