"""The program that looks at switches, on this process's own namespace."""

import json
import os
import signal
import subprocess
import sys
import time


def test_a_reader_that_stood_still_goes_on_and_tells_for_how_long():
    words = [sys.executable, "-S", "-m", "experiments.validity.held_reader"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    reader = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    )
    reader.stdin.write(json.dumps({"s1": os.getpid()}) + "\n")
    reader.stdin.flush()
    reader.stdout.readline()  # the first second is over
    os.kill(reader.pid, signal.SIGSTOP)
    time.sleep(0.4)
    os.kill(reader.pid, signal.SIGCONT)
    output, _ = reader.communicate()  # which closes its input
    assert reader.returncode == 0
    begin_s, end_s, still_s, still_square, seen = json.loads(output.splitlines()[0])
    assert 0 < begin_s < end_s
    assert still_s > 0.01
    # The mean square of one stop of 0.4 s and more, as it may be, is that of 0.2 s at least.
    assert still_square > 0.2**3 / 3 / (end_s - begin_s)
    assert set(seen) == {"s1"}
