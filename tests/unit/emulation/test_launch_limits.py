"""Limits that Mininet raises at a launch: what it cannot raise is not told at each."""

from mininet import net
from mininet.log import lg

from emulation.network import initialize_mininet


def test_limits_that_cannot_be_raised_in_namespaces_are_not_told(monkeypatch):
    told = []
    level = lg.level
    monkeypatch.setattr(net.Mininet, "inited", False)
    monkeypatch.setattr(net, "ensureRoot", lambda: None)
    monkeypatch.setattr(net, "fixLimits", lambda: lg.warning("*** Error setting resource limits"))
    monkeypatch.setattr(lg, "handle", told.append)
    initialize_mininet()
    assert net.Mininet.inited
    assert not told
    assert lg.level == level
