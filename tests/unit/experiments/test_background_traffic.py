"""Background traffic of a session: its state just after its start."""

import threading
from types import SimpleNamespace

import pytest

from experiments.session import background
from experiments.session.background import BackgroundTraffic
from experiments.spec.fabric import FabricOptions
from polarlab.api.lines import traffic_line
from topology.families.low_diameter.polarfly import PolarFly
from topology.links import LinkSpec
from traffic.engine.telemetry import TrafficSnapshot

FABRIC = FabricOptions("polarfly", {"q": 2}, PolarFly(2), 1, "min", LinkSpec(20_000_000, 32))


def fabric():
    return SimpleNamespace(options=FABRIC, hosts=range(7), network=SimpleNamespace(ended_processes=list))


def test_traffic_that_is_about_to_start_has_flowed_for_no_time(monkeypatch):
    seen = threading.Event()

    def flows(_fabric, _options, look, starts, _ends):
        look(TrafficSnapshot(-0.02, 0.0, 0.0, None, None))
        starts(None)
        seen.wait()
        raise background.TrafficInterrupted(None)

    monkeypatch.setattr(background, "run_measured_traffic", flows)
    traffic = BackgroundTraffic(fabric(), "uniform", 0.3, 1, print)
    assert " for 0.0 s" in traffic_line(traffic.status())
    seen.set()
    assert traffic.kill() is None


class Interrupted(threading.Event):
    """The start of traffic, during which Ctrl-C is pressed."""

    def wait(self, timeout=None):
        super().wait(timeout)
        raise KeyboardInterrupt


def test_ctrl_c_while_traffic_starts_ends_it(monkeypatch):
    threads = []

    def flows(_fabric, _options, look, starts, _ends):
        threads.append(threading.current_thread())
        starts(None)
        try:
            while True:
                look(TrafficSnapshot(0.0, 0.0, 0.0, None, None))
        except KeyboardInterrupt:
            raise background.TrafficInterrupted(None) from None

    monkeypatch.setattr(background, "run_measured_traffic", flows)
    classes = SimpleNamespace(Event=Interrupted, Thread=threading.Thread)
    monkeypatch.setattr(background, "threading", classes)
    with pytest.raises(KeyboardInterrupt):
        BackgroundTraffic(fabric(), "uniform", 0.3, 1, print)
    assert not threads[0].is_alive()
