"""Generated lines of any kind at the prompt: none of them ends the fabric or hangs the prompt."""

import os
import select
import signal
import subprocess
import time

import pytest
from conftest import PATIENCE, POLARLAB, TIMEOUT_S
from support.builders.prompt_lines import generated_lines

LINE_S, INTERRUPTED_S = 1.5, 10.0
MAX_INTERRUPTS = 4


class FedPrompt:
    """`polarlab up`, whose lines come through a pipe, each followed by one that says that it is over."""

    def __init__(self, folder):
        words = [POLARLAB, "up", "polarfly", "--q", "2"]
        environment = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=environment,
            start_new_session=True,
        )
        os.set_blocking(self.process.stdout.fileno(), False)
        self.printed = ""

    def run(self, line, number, line_s=LINE_S):
        """Runs a line; what does not end within its time is interrupted as by Ctrl-C."""
        over = f"<line {number} is over>"
        self.printed = ""
        self.process.stdin.write(f"{line}\nsh echo '<line {number} is' over'>'\n".encode())
        self.process.stdin.flush()
        for interrupts in range(MAX_INTERRUPTS + 1):
            if self._comes(over, line_s * PATIENCE if interrupts < 1 else INTERRUPTED_S * PATIENCE):
                return
            self.process.send_signal(signal.SIGINT)
        raise AssertionError(f"{line!r} hangs: {self.printed[-300:]!r}")

    def _comes(self, text, seconds):
        end_s = time.monotonic() + seconds
        while text not in self.printed:
            left_s = end_s - time.monotonic()
            if left_s <= 0:
                return False
            if select.select([self.process.stdout], [], [], left_s)[0]:
                new = self.process.stdout.read() or b""
                assert new, f"the prompt has ended: {self.printed[-300:]!r}"
                self.printed = self.printed[-5000:] + new.decode(errors="replace")
        return True


def survives(folder, lines):
    """Runs lines at the prompt of a fabric of its own, which must be usable afterwards."""
    prompt = FedPrompt(folder)
    try:
        prompt.run("nodes", "first", TIMEOUT_S)
        for number, line in enumerate(lines):
            prompt.run(line, number)
        # Lines such as `trap 'exit 3' DEBUG` have a shell end at the next command.
        for line in ("h1_1 true", "controller restart", "restore all", "h1_1 echo ali've'", "path h1_1 h7_1"):
            prompt.run(line, "last", 4 * INTERRUPTED_S)
            assert "alive" in prompt.printed or "echo" not in line
        assert "hop" in prompt.printed
        rest, _ = prompt.process.communicate(b"exit\n", timeout=TIMEOUT_S)
    finally:
        prompt.process.kill()
        prompt.process.communicate()
    assert b"Traceback" not in rest
    assert prompt.process.returncode in (0, 1)


def test_no_line_ends_the_fabric_or_hangs_the_prompt(tmp_path):
    survives(tmp_path, generated_lines(25, seed=1))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4, 5, 6])
def test_none_of_many_lines_ends_the_fabric_or_hangs_the_prompt(tmp_path, seed):
    survives(tmp_path, generated_lines(100, seed))
