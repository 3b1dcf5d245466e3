"""What a host's root does to TCP flows: it runs on the host, by the machine's interpreter.

`end OWN DESTINATION` ends flows from this host in the place of their destination, and then connects to the
destination from a port of theirs. `replace INTERFACE` puts another interface in the place of the host's own,
and sends through it. Both print `ready` once they act.
"""

import ctypes
import socket
import subprocess
import sys
import time

FLOW_PORT = 19_998
NETWORK = 0x40000000
MANY_BYTES = 100
FALSE_ENDS = 3  # flows that are ended before one of their ports is used

BESIDE = """ip link add v0 type veth peer name v1 netns {pid} && ip link set v0 up
nsenter -t {pid} -n sh -c 'ip link set lo up; ip link set v1 up; ip addr add {other}/32 dev v1
ip route add {own}/32 dev v1'"""
REPLACED = """ip link set {name} down; ip link set {name} name x; ip link set x up
ip link add {name} type veth peer name y; ip link set y up; ip addr add {address} dev x
ip link set {name} up"""


def shell(script):
    """Runs a script."""
    subprocess.run(script, shell=True, check=True)


def end(own, other):
    """Ends flows in the place of their destination, then comes from a port of theirs."""
    with subprocess.Popen(["unshare", "-n", "sleep", "100"]) as beside:
        time.sleep(0.3)
        shell(BESIDE.format(pid=beside.pid, own=own, other=other))
        with open("/proc/self/ns/net") as home, open(f"/proc/{beside.pid}/ns/net") as there:
            enter = ctypes.CDLL(None).setns
            enter(there.fileno(), NETWORK)
            listener = socket.create_server((other, FLOW_PORT), backlog=50)
            enter(home.fileno(), NETWORK)
        route = f"{other}/32 dev v0 src {own}"
        shell("sysctl -qw net.ipv4.tcp_max_tw_buckets=0; ip route add " + route)
        print("ready", flush=True)
        ended = 0
        while ended < FALSE_ENDS:
            port, count = ended_flow(listener)
            ended += count > MANY_BYTES
        shell("ip route del " + route)
        time.sleep(0.05)
        with socket.socket() as late:
            late.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            late.bind((own, port))
            late.connect((other, FLOW_PORT))
            print("connected", flush=True)
            time.sleep(0.5)
        beside.kill()


def ended_flow(listener):
    """Accepts a flow and ends it first; returns its port and the number of its bytes."""
    connection, (_, port) = listener.accept()
    with connection:
        connection.shutdown(socket.SHUT_WR)
        count = 0
        while chunk := connection.recv(1 << 16):
            count += len(chunk)
    return port, count


def replace(name):
    """Has another interface of the same name, and sends through it both ways."""
    listed = subprocess.run(
        ["ip", "-o", "-4", "addr", "show", name], capture_output=True, text=True, check=True
    )
    shell(REPLACED.format(name=name, address=listed.stdout.split()[3]))
    ends = [socket.socket(socket.AF_PACKET, socket.SOCK_RAW) for _ in range(2)]
    for opened, interface in zip(ends, (name, "y"), strict=True):
        opened.bind((interface, 0))
    print("ready", flush=True)
    while True:
        for opened in ends:
            opened.send(b"a" * 1000)
        time.sleep(0.005)


if __name__ == "__main__":
    {"end": end, "replace": replace}[sys.argv[1]](*sys.argv[2:])
