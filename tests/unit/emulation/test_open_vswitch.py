"""Sockets of a switch's processes, without a switch."""

import socket

from emulation.open_vswitch import accepts_connections


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
