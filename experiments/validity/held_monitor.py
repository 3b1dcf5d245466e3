"""Monitor of how long switches hold frames outside their queues while traffic runs."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import time

from emulation.network import FabricNetwork
from emulation.subprocesses import marked_environment
from experiments.validity.samples import HeldLately, HeldSamples, HeldSecond, SwitchSample
from traffic.engine.child_process import end_text, start_python

_READER = ("-S", "-m", "experiments.validity.held_reader")
_END_S = 3.0
_READY_S = 5.0  # longest time from the start of the monitoring process to its first sample


class HeldMonitor:
    """Monitor of the frames that a fabric's switches have not read yet; a context manager.

    Attributes:
        samples: the samples so far; None with the kernel datapath, which holds no frames in sockets.
    """

    def __init__(self, network: FabricNetwork, packet_s: float) -> None:
        """Prepares to observe; entering the context starts the monitoring process.

        Args:
            network: the fabric's network, started.
            packet_s: time of a frame on a link, in s.
        """
        self._packet_s = packet_s
        self._namespaces = {switch.name: switch.pid for switch in network.switches}
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None
        self._ready, self._ending = threading.Event(), False
        user = network.settings.datapath == "user"
        self.samples: HeldSamples | None = HeldSamples() if user else None

    def __enter__(self) -> HeldMonitor:
        if self.samples is not None:
            self._process = start_python(_READER, marked_environment(), stderr=subprocess.DEVNULL)
            assert self._process.stdin
            with contextlib.suppress(BrokenPipeError):  # the process has ended, which `_collect` notes
                self._process.stdin.write(json.dumps(self._namespaces) + "\n")
                self._process.stdin.flush()
            self._thread = threading.Thread(target=self._collect, args=(self.samples,), daemon=True)
            self._thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        if self._process and self._thread and self.samples:
            assert self._process.stdin
            self._ending = True
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()  # makes the process print the last second and end
            self._thread.join(_END_S)
            if self._thread.is_alive():
                self.samples.ended = "the monitoring process did not answer"
            self._process.kill()
            self._process.wait()
            self._thread.join()
            if self._process.stdout:
                self._process.stdout.close()

    def wait_until_sampling(self) -> None:
        """Waits until the monitoring process is about to take its first sample, or has ended without one."""
        if self._thread:
            self._ready.wait(_READY_S)

    @property
    def latest(self) -> HeldLately | None:
        """The longest times for which switches held frames in the last second; None without samples."""
        return self.samples.lately(self._packet_s, time.monotonic()) if self.samples else None

    def _collect(self, samples: HeldSamples) -> None:
        assert self._process
        assert self._process.stdout
        for line in self._process.stdout:
            if line[:1] == "[" and line[-1:] == "\n":  # skips `ready`, and a line cut off by the reader's end
                begin_s, end_s, still_s, still_square, seen = json.loads(line)
                switches = {name: SwitchSample(*sample) for name, sample in seen.items()}
                samples.seconds.append(HeldSecond(begin_s, end_s, switches, still_s, still_square))
            self._ready.set()
        if not self._ending:
            samples.ended = f"the monitoring process {end_text(self._process.wait())}"
        self._ready.set()
