"""Mininet's prompt on a stand-in network: lines from a file, nodes whose shells end, lines that fail."""

import os
import pty
import subprocess
import sys

import pytest

from emulation.nodes import FabricSwitch

NETWORK = """
import os
from types import SimpleNamespace
from emulation.mininet_cli import open_prompt


class Node:
    '''A node that answers commands by their text, `read` by the key that it is fed; `exit` ends its shell.'''

    def __init__(self, name):
        self.name, self.waiting = name, False
        self.shell = SimpleNamespace(poll=lambda: None)
        reader, self.writer = os.pipe()
        self.stdout = os.fdopen(reader)

    def sendCmd(self, command):
        assert not self.waiting
        self.waiting = True
        if command == "exit":
            self.shell = SimpleNamespace(poll=lambda: 0)
        elif command == "crash":
            raise AttributeError("no such attribute")
        elif command == "read":
            print("reading", flush=True)
        else:
            os.write(self.writer, f"did {command}\\n".encode())

    def monitor(self):
        self.waiting = False
        return os.read(self.stdout.fileno(), 1024).decode()

    def write(self, key):
        os.write(self.writer, f"fed {key}\\n".encode())

    def sendInt(self):
        pass

    def waitOutput(self):
        pass


open_prompt({name: Node(name) for name in ("h1", "h2")})
print("left")
"""


def answers(tmp_path, lines):
    """Returns the prompt's answers to the lines of a file."""
    file = tmp_path / "lines.txt"
    file.write_text(lines)
    with file.open() as stdin:
        done = subprocess.run(
            [sys.executable, "-c", NETWORK],
            stdin=stdin,
            capture_output=True,
            text=True,
            check=False,
            timeout=30,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("left\n")
    return done.stdout


def test_all_lines_of_a_file_are_run(tmp_path):
    output = answers(tmp_path, "h1 one\nh2 two\nh1 three\n")
    assert [output.count(f"did {word}\n") for word in ("one", "two", "three")] == [1, 1, 1]
    assert "fed" not in output


@pytest.mark.parametrize("line", ["h1 exit", "h1 crash"])
def test_a_line_that_fails_leaves_the_prompt_open(tmp_path, line):
    output = answers(tmp_path, f"{line}\nh2 two\n")
    assert "did two\n" in output


def test_a_node_whose_shell_has_ended_is_named(tmp_path):
    output = answers(tmp_path, "h1 exit\nh1 one\n")
    assert output.count("the shell of h1 has ended") == 2
    assert "did one" not in output


def test_a_key_on_a_terminal_reaches_the_running_command():
    terminal, its_end = pty.openpty()
    command = [sys.executable, "-c", NETWORK]
    with subprocess.Popen(command, stdin=its_end, stdout=subprocess.PIPE, text=True) as process:
        for keys, answer in (("h1 read\n", "reading\n"), ("k", "fed k\n"), ("exit\n", "left\n")):
            os.write(terminal, keys.encode())
            assert any(line.endswith(answer) for line in iter(process.stdout.readline, ""))
    os.close(terminal)
    os.close(its_end)


def test_a_switch_name_in_a_command_stands_for_an_interface():
    """Mininet replaces a node's name in a command by the address of its first interface."""
    switch = FabricSwitch.__new__(FabricSwitch)
    switch.name, switch.intfs = "s1", {2: "s1-eth2", 1: "s1-eth1"}
    assert switch.defaultIntf() == "s1-eth1"
