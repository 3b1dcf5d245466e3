"""What the web process writes to its standard error."""

import subprocess
import sys

FAILING = """
import logging
from polarlab.web.service.error_lines import write_errors

write_errors()
log = logging.getLogger("service")
for number in range(1_000):
    try:
        int(f"x{number}")
    except ValueError:
        log.exception("failed")
    log.warning("odd")
log.error("another fault")
"""


def test_a_fault_that_is_met_again_and_again_leaves_room_for_others():
    done = subprocess.run([sys.executable, "-c", FAILING], capture_output=True, text=True, check=True)
    assert done.stderr.count("Traceback") == 1
    assert done.stderr.endswith("another fault\n")
    assert "odd" not in done.stderr
