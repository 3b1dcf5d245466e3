"""Names of hosts inside of nodes."""

from emulation.node_configuration import hosts_text
from topology.families.low_diameter.polarfly import PolarFly


def test_every_host_has_a_name_and_the_machine_keeps_its_own():
    text = hosts_text(PolarFly(2), 2, "127.0.0.1 localhost\n")
    entries = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert ["10.0.4.2", "h5_2"] in entries
    assert len(entries) == 2 * 7 + 1
    assert entries[-1] == ["127.0.0.1", "localhost"]
    assert "# s1 to s7 are switches" in text
