"""The prompt on nodes with real shells and without switches: lines that fail, end shells, or never end."""

import os
import re
import subprocess
import sys
import time

import pytest
from support.fixtures.terminal import Terminal

from emulation.nodes import FabricSwitch

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="nodes have namespaces of their own, by root")

NETWORK = """
import sys
from emulation.node_shell import LastingNode
from emulation.prompt.line_input import private_input, run_lines, run_stream, type_lines
from emulation.prompt.mininet_commands import FabricCLI


class Network(dict):
    hosts, switches, controllers = (), (), ()


network = Network({name: LastingNode(name) for name in ("h1", "h2")})
try:
    if sys.stdin.isatty():
        type_lines(FabricCLI(network, sys.stdin))
    elif len(sys.argv) > 1:
        print("failed", run_lines(FabricCLI(network), sys.argv[1:]))
    else:
        with private_input() as lines:
            for failed in run_stream(FabricCLI(network), lines):
                print("failed", failed, flush=True)
    print("left", flush=True)
finally:
    for node in network.values():
        node.terminate()
"""


def answers(tmp_path, lines, timeout_s=60):
    """Returns the prompt's answers to the lines of a file, standard error among them."""
    file = tmp_path / "lines.txt"
    file.write_text(lines)
    with file.open() as stdin:
        done = subprocess.run(
            [sys.executable, "-c", NETWORK],
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=timeout_s,
            cwd=tmp_path,
        )
    assert done.returncode == 0, done.stdout
    assert done.stdout.endswith("left\n")
    assert "Traceback" not in done.stdout
    return done.stdout


def test_all_lines_of_a_file_are_run_and_no_program_reads_them(tmp_path):
    output = answers(tmp_path, "h1 echo one\nh1 cat\nsh cat\npy input()\nh2 echo two\n")
    assert "one\n" in output
    assert "two\n" in output
    assert "echo two" not in output


FAILING = (
    *("h1 exit", "h1 kill -9 $$", "h1 false", "h1 echo 'half", "h1 (", "h1 nosuchprogram", "h1", "h99 true"),
    *("py 1/0", "py exit()", "py quit()", "px raise SystemExit", "px exit()", "px import nosuchmodule"),
    *("source nowhere", "source /dev/zero", "source .", "source", "x nowhere", "xterm h99", "link h1"),
    *("switch h1 start", "iperf h1", "iperfudp 1 h1 h2", "EOF", "help nosuch", "h1 echo \x07", "h1 \x03"),
    *("\x04", "h1 echo " + "x" * 5000, "?nosuch", "!ls", "sh exit 3"),
)


def test_a_line_that_fails_is_told_in_a_line_and_all_others_are_run(tmp_path):
    output = answers(tmp_path, "".join(f"{line}\nh1 echo la''ter\n" for line in FAILING))
    told = re.findall(r"failed FailedLine\(line='?\"?(.*?)['\"], status=(\d+)", output)
    assert len(told) == len(FAILING)
    assert output.count("later\n") == len(FAILING)
    # Beside these two lines a shell or a program may say a line of its own.
    assert output.count("\n") <= 3 * len(FAILING) + 2


def test_a_shell_that_ends_is_started_again_in_its_own_namespace(tmp_path):
    lines = ("h1 ip address add 10.9.9.9/32 dev lo", "h1 exit", "h1 ip -br address show lo", "h1 pwd")
    output = answers(tmp_path, "\n".join(lines))
    assert "the shell of h1 has ended and was restarted" in output
    assert "10.9.9.9/32" in output
    assert str(tmp_path) in output


@pytest.mark.parametrize("end", ["exit", "kill -9 $$"])
def test_programs_in_the_background_outlive_their_shell_and_may_print_without_end(tmp_path, end):
    lines = (
        "h1 sleep 600 & echo $! > quiet",
        "h1 (while kill -0 $$; do sleep 0.05; done; for n in $(seq 20000); do echo word $n || exit; done;"
        " touch printed; exec sleep 600) & echo $! > loud",
        f"h1 {end}",
        "h1 kill -0 $(cat quiet) && echo still ali''ve",
        "h1 for n in $(seq 200); do test -e printed && break; sleep 0.1; done",
        "h1 kill $(cat loud) && test -e printed && echo pri''nted",
        "h1 kill $(cat quiet)",
    )
    output = answers(tmp_path, "\n".join(lines))
    assert "still alive" in output
    assert "printed\n" in output


@pytest.mark.parametrize(
    "noise",
    ["printf '\\177'", "printf '\\001'", "PS1=x; echo", "head -c 20000 /dev/urandom", "printf '\\177\\177x'"],
)
def test_what_a_program_prints_does_not_confuse_the_end_of_a_command(tmp_path, noise):
    output = answers(tmp_path, f"h1 {noise}\nh1 false\nh1 echo la''ter\n")
    assert "later\n" in output
    assert output.count("failed FailedLine(line='h1 false', status=1,") == 1


# Each leaves the shell without a prompt, without an answer, or without any state to answer from.
SILENT = (
    *("set -u; echo $undefd", "exec 2>&-", "exec >&-", "exec >&- 2>&-", "exec 2>/dev/null", "kill -STOP $$"),
    *(
        "set -e; false",
        "set -n",
        "set -r",
        "set -t",
        "PROMPT_COMMAND='sleep 600'",
        "PS0='$(sleep 600)'; PS1=",
    ),
    *("trap 'exit 3' DEBUG", "shopt -s extdebug; trap false DEBUG", "enable -n printf echo", "ulimit -n 0"),
    *("stty raw", "stty -icanon min 200", "stty olcuc", "alias builtin=false", "return", "exec cat"),
    *("builtin() { :; }", "printf() { :; }; unset -f printf", "while :; do :; done &", "yes &", "cat <<END"),
    *("suspend -f", "set -o emacs", "exec </dev/null", "set -x; PS4='$(cat)'", "readonly -a A; local x"),
)


@pytest.mark.parametrize("start", range(0, len(SILENT), 8))
def test_the_prompt_returns_whatever_a_line_does_to_its_shell(tmp_path, start):
    """Each line runs in a shell of its own state: the next one ends that shell."""
    lines = SILENT[start : start + 8]
    between = "h1 echo fol''lows\npx net['h1'].end_shell()\nh1 true\nh1 echo la''ter\n"
    output = answers(tmp_path, "".join(f"h1 {line}\n{between}" for line in lines), timeout_s=120)
    assert output.count("later\n") == len(lines), output


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("kill -STOP $$", "was stopped"),
        ("bash -c 'kill -STOP $$'", "waited for a stopped program"),
        ("set -r", "does not answer"),
    ],
)
def test_a_shell_that_does_not_answer_is_told_in_a_line_and_started_again(tmp_path, line, reason):
    output = answers(tmp_path, f"h1 {line}\nh1 echo la''ter\n")
    (told,) = (text for text in output.splitlines() if text.startswith("failed"))
    assert f"the shell of h1 {reason} and was restarted" in told
    assert "later\n" in output


@pytest.mark.parametrize(
    ("line", "renewed"),
    [
        *(("eval() { :; }", False), ("alias eval=true", False), ("enable -n eval", True)),
        ("builtin() { :; }", True),
    ],
)
def test_lines_work_after_one_that_changes_the_shells_own_commands(tmp_path, line, renewed):
    output = answers(tmp_path, f"h1 {line}\nh1 echo la''ter\nh1 false\n")
    assert ("the shell of h1 does not answer and was restarted" in output) == renewed
    assert "later\n" in output
    assert "failed FailedLine(line='h1 false', status=1," in output


def test_a_shell_whose_errors_are_closed_goes_on_and_keeps_its_state(tmp_path):
    lines = (
        "h1 word=kept",
        "h1 exec 2>&-",
        "h1 false",
        "h1 echo $word $?",
        "py net['h1'].cmd('echo Mini''net')",
    )
    output = answers(tmp_path, "\n".join(lines) + "\n")
    assert "restarted" not in output
    assert "status=1" in output
    assert "kept" in output
    assert "Mininet\n" in output.replace("\r", "")


def test_source_without_a_file_says_what_it_needs(tmp_path):
    assert "reason='source needs a file'" in answers(tmp_path, "source\n")


@pytest.mark.parametrize("seconds", ["0", "many", "-1", "1e9", "100", "100s", "2min", "5Mbit"])
def test_a_wait_of_pings_that_is_none_is_refused(tmp_path, seconds):
    assert "seconds must be over 0 and below 100" in answers(tmp_path, f"pingall {seconds}\n")


def test_a_variable_that_is_not_set_fails_its_line_alone(tmp_path):
    output = answers(tmp_path, "h1 set -u; echo $undefd\nh1 echo la''ter\n")
    assert output.count("failed FailedLine(line='h1 set -u; echo $undefd', status=1,") == 1
    assert "restarted" not in output
    assert "later\n" in output


def test_files_of_lines_may_read_others_but_not_without_end(tmp_path):
    (tmp_path / "again").write_text("h1 echo ro''und\nsource again\n")
    output = answers(tmp_path, "source again\nh1 echo la''ter\n")
    assert output.count("round") == 10
    assert "later\n" in output


def test_a_failure_can_be_tolerated(tmp_path):
    output = answers(tmp_path, "h1 false || true\npy 1/0 || true\n")
    assert "failed" not in output
    assert "ZeroDivisionError" in output


def test_single_lines_end_with_the_first_that_fails():
    command = [sys.executable, "-c", NETWORK, "h1 true", "h1 exit 3", "h1 echo la''ter"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert "failed FailedLine(line='h1 exit 3', status=1," in done.stdout
    assert "later" not in done.stdout


@pytest.fixture
def terminal():
    with Terminal([sys.executable, "-c", NETWORK]) as opened:
        opened.expect("polarlab> ")
        yield opened


def test_keys_on_a_terminal_reach_the_running_command(terminal):
    terminal.type("h1 read word; echo got $word\n")
    terminal.expect("got \\$word")
    terminal.type("key\n")
    terminal.expect("got key")
    terminal.expect("polarlab> ")
    terminal.type("exit\n")
    terminal.expect("left")


def test_the_tabulator_completes_commands_and_nodes(terminal):
    terminal.type("iperfu\t")
    terminal.expect("iperfudp")
    terminal.type("\x15h2 echo 'in'side h\t\t")
    terminal.expect("h1 +h2")


@pytest.mark.parametrize("key", ["\x03", "\x1c"])
@pytest.mark.parametrize("line", ["h1 sleep 100", "py __import__('time').sleep(100)", "sh sleep 100"])
def test_ctrl_c_and_ctrl_backslash_end_a_line_and_not_the_prompt(terminal, line, key):
    terminal.type(f"{line}\n")
    terminal.expect("100")
    time.sleep(0.3)
    terminal.type(key)
    terminal.expect("polarlab> ")
    terminal.type("h1 echo la''ter\n")
    terminal.expect("later\r")


@pytest.mark.parametrize("key", ["\x03", "\x1c"])
def test_ctrl_c_and_ctrl_backslash_discard_what_is_typed(terminal, key):
    terminal.type("h1 echo fir''st")
    terminal.expect("st")
    # Python's readline notices a signal that comes just before it waits for a key with the next key only.
    time.sleep(0.3)
    terminal.type(key)
    terminal.expect("polarlab> ")
    terminal.type("h1 echo la''ter\n")
    terminal.expect("later\r")


@pytest.mark.parametrize("line", ["py exit()", "py quit()", "px exit()", "px sys.stdin.close()"])
def test_a_line_that_closes_standard_input_leaves_the_terminal_to_the_prompt(terminal, line):
    terminal.type(f"{line}\n")
    terminal.expect("polarlab> ")
    terminal.type("h1 read word; echo got $word\n")
    terminal.expect("got \\$word")
    terminal.type("key\n")
    terminal.expect("got key")
    terminal.expect("polarlab> ")
    terminal.type("exit\n")
    terminal.expect("left")
    assert terminal.status() == 0


@pytest.mark.parametrize("line", ["h1 trap '' INT; sleep 100", "h1 bash -c 'trap \"\" INT; sleep 100'"])
def test_ctrl_c_twice_ends_a_command_that_does_not_answer(terminal, line):
    terminal.type(f"{line}\n")
    time.sleep(0.5)
    terminal.type("\x03")
    time.sleep(0.5)
    terminal.type("\x03")
    terminal.expect("restarted")
    terminal.expect("polarlab> ")
    terminal.type("h1 echo la''ter\n")
    terminal.expect("later\r")


def test_a_switch_name_in_a_command_stands_for_an_interface():
    """Mininet's own commands ask for the address of a node's first interface."""
    switch = FabricSwitch.__new__(FabricSwitch)
    switch.name, switch.intfs = "s1", {2: "s1-eth2", 1: "s1-eth1"}
    assert switch.defaultIntf() == "s1-eth1"


def test_a_file_of_lines_that_another_user_can_change_is_refused(tmp_path):
    (tmp_path / "lines").write_text("h1 echo ro''und\n")
    (tmp_path / "lines").chmod(0o666)
    output = answers(tmp_path, "source lines\n")
    assert "round" not in output
    assert "lines is writable by other users" in output
