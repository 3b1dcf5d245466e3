"""Configuration of a switch, and sockets of its processes, without a switch."""

import socket

from emulation import open_vswitch
from emulation.open_vswitch import SwitchSettings, VSwitch, accepts_connections
from topology.links import LinkSpec


def test_a_socket_without_a_listener_accepts_no_connections(tmp_path):
    path = tmp_path / "mgmt"
    assert not accepts_connections(path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        assert path.exists()
        assert not accepts_connections(path)
        server.listen()
        assert accepts_connections(path)
    assert not accepts_connections(path)


def test_a_switch_calls_its_controller_again_as_soon_as_open_vswitch_lets_it(tmp_path, monkeypatch):
    """Without the setting a switch may wait for 8 s; less than 1,000 ms is not possible."""
    commands = []
    monkeypatch.setattr(open_vswitch, "start", commands.append)
    settings = SwitchSettings("s1", 1, 1, (("s1-eth1", 1),), LinkSpec(1_000_000, 8))
    VSwitch(settings, tmp_path, "user").configure("unix:controller")
    words = " ".join(*commands)
    assert "-- set-controller s1 unix:controller --" in words
    assert "-- set controller s1 max_backoff=1000 --" in words
