"""Runs the controller as a child process: starts it, sends requests, waits for reports, and ends it."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from controller import requests
from controller.occupancy.queue_handoff import (
    AdaptationRequest,
    Queues,
    channel,
    request_adaptation,
    send_queues,
)
from controller.openflow.frameworks import AUTO, QUICK_START, choose
from controller.reports import (
    Connected,
    Incomplete,
    Installed,
    Listening,
    NotDrained,
    Planned,
    Replanned,
    Report,
    Restored,
    RoutingSet,
)
from emulation.prompt.process_state import is_ending
from emulation.subprocesses import marked_environment
from experiments.controller_reports import SILENCE_TIMEOUT_S, ControllerError, ControllerReports
from routing.registry import routing as routing_named
from topology.base import Params
from topology.errors import PolarLabError
from topology.files.inheritance import inheritable
from topology.files.plugin_files import handed_over
from traffic.engine.child_process import prefer, start_python

_START_TIMEOUT_S = 120.0
_NICENESS = -10  # high priority: a real fabric's controller has its own machine
SERVICE = ("-m", "controller.service")
# One thread starts all controllers: the kernel kills a controller when the thread that started it ends.
_PARENT = ThreadPoolExecutor(1)


@dataclass(frozen=True)
class Installation:
    """Times of a plan's installation, on time.monotonic's clock.

    Attributes:
        connected_s: time at which the last switch connected.
        installed_s: time at which all switches had installed the plan.
    """

    connected_s: float
    installed_s: float


class ControllerProcess(ControllerReports):
    """The controller, in a child process that runs `controller.service`."""

    def __init__(  # noqa: PLR0913  # the words of the controller's command line
        self,
        topology: str,
        params: Params,
        hosts: int,
        routing: str,
        listen: str,
        log: Path,
        *,
        local_repair: bool = True,
        ordered_repair: bool = False,
        framework: str = AUTO,
        ports: Sequence[tuple[Sequence[int], Sequence[int]]] | None = None,
    ) -> None:
        """Starts the controller; it ends at the end of the `with` block.

        Args:
            topology: name of the topology's family.
            params: parameters of the topology.
            hosts: hosts per router.
            routing: name of the routing; the controller of an adaptive routing waits for `hand_over`
                before it listens.
            listen: address for the switches, in the syntax of `controller.service`.
            log: file to which the controller's standard error is appended.
            local_repair: whether the plan has fast reroute.
            ordered_repair: whether fast reroute keeps to an order of channels, so that failures create no
                cyclic dependency.
            framework: controller framework, `ryu`, `os-ken` or `auto`.
            ports: for each router, the ports of its links and of its hosts; None for the default ports.

        Raises:
            MachineError: the framework is not installed.
        """
        super().__init__(routing, log)
        self.framework = choose(framework).name
        words = [f"{name}={value}" for name, value in params.items()]
        self._topology, self._ports = topology, ports
        self._command = [*SERVICE, topology, *words, "--hosts", str(hosts)]
        self._command += ["--listen", listen]
        self._command += [] if local_repair else ["--no-local-repair"]
        self._command += ["--ordered-repair"] if ordered_repair else []
        self._adapts = not routing_named(routing).oblivious
        self.drained: tuple[str, ...] = ()  # names of components; a restarted controller gets them again
        self.stopped = True
        self.start()

    def start(self) -> None:
        """Starts the controller, or restarts it after `stop`; the reports of the previous one are kept."""
        self._channel, theirs = channel()
        self._requests, requests_from = requests.channel()
        command = [*self._command, "--routing", self.routing, "--framework", self.framework]
        command += ["--requests-from", str(requests_from.fileno())]
        command += ["--drained", ",".join(self.drained)] if self.drained else []
        # A switch whose programs were restarted meanwhile has forgotten that these ports were set down.
        down = [f"{switch}:{port}" for switch, port in sorted(self.ports_down)]
        command += ["--ports-down", ",".join(down)] if down else []
        if self._adapts:
            command += ["--queues-from", str(theirs.fileno())]
        names = (self._topology, self.routing.partition(":")[0])
        with (
            theirs,
            requests_from,
            handed_over(*names) as plugins,
            inheritable(self._ports) as ports,
            self._log.open("ab") as stderr,
        ):
            command += [word for one in plugins for word in ("--plugins-from", str(one))]
            command += [word for one in ports for word in ("--ports-from", str(one))]
            process = _PARENT.submit(
                start_python,
                command,
                marked_environment(QUICK_START),
                stdin=subprocess.DEVNULL,
                stderr=stderr,
                pass_fds=[theirs.fileno(), requests_from.fileno(), *plugins, *ports],
            ).result()
        prefer(process.pid, _NICENESS)
        self._begin(process)
        self.stopped = False

    def __enter__(self) -> ControllerProcess:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Kills the controller and processes the reports that it has written."""
        self.stopped = True
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._channel.close()
        self._requests.close()
        with contextlib.suppress(PolarLabError):  # the controller's end is intended here
            self.catch_up()

    def restore_minimal_paths(self) -> None:
        """Resets all adaptive groups to their minimal paths and returns when that is done.

        Raises:
            ControllerError: the controller ended or stopped reporting.
        """
        self._ask_adaptation(AdaptationRequest(), Restored)

    def set_routing(self, name: str) -> None:
        """Changes parameters of an adaptive routing; returns once the controller uses them. No rule changes.

        Args:
            name: name of the routing with its parameters; parameters on which the plan depends must not
                change.

        Raises:
            ControllerError: the controller ended or stopped reporting.
        """
        self._ask_adaptation(AdaptationRequest(name), RoutingSet)

    def _ask_adaptation(self, request: AdaptationRequest, answer: type[Report]) -> None:
        """Sends a request about adaptive routing, and waits for the controller's report of type `answer`."""
        with self._processing:  # otherwise another thread could process the answer before this one waits
            with contextlib.suppress(OSError):  # the controller has ended: waiting raises the error
                request_adaptation(self._channel, request)
            self.wait_for(answer, timeout_s=SILENCE_TIMEOUT_S)

    def ask_for_drain(self, components: Sequence[str]) -> None:
        """Asks the controller to drain exactly these components, given by name, like `switch:s3`.

        The controller then reports a plan (`planned_drain`), or why it refuses (`drain_refusal`).
        """
        self.catch_up()
        self.drained = tuple(components)
        self._latest.pop(NotDrained, None)
        with contextlib.suppress(OSError):  # the controller has ended
            requests.request_drain(self._requests, components)

    @property
    def drain_refusal(self) -> str | None:
        """The reason why the controller refused the requested drain; None if it did not refuse it."""
        refusal = self._latest.get(NotDrained)
        return refusal.text if isinstance(refusal, NotDrained) else None

    @property
    def running(self) -> bool:
        """Whether the process runs; a process that was killed counts as ended at once."""
        return self._process.poll() is None and not is_ending(self._process.pid)

    @property
    def pid(self) -> int:
        """Process id of the controller."""
        return self._process.pid

    def hand_over(self, queues: Queues) -> None:
        """Sends an adaptive routing's controller the sockets from which it reads the switches' queues."""
        with contextlib.suppress(OSError):  # the controller has ended: the next wait raises the error
            send_queues(self._channel, queues)

    def wait_until_listening(self) -> None:
        """Waits until the plan is proven and switches can connect.

        Raises:
            NegativeResult: the plan fails its proof.
            ControllerError: the controller ended or stopped reporting.
        """
        self.wait_for(Listening, timeout_s=_START_TIMEOUT_S)

    def check_plan(self, digest: str) -> None:
        """Checks that the controller has the same plan as this process, which judges results by its own plan.

        Args:
            digest: digest of this process's plan, from `routing.plan.digest`.

        Raises:
            ControllerError: the plans differ.
        """
        reported = self.latest(Planned).digest
        if reported != digest:
            raise ControllerError(
                f"the controller's plan must have this process's digest {digest[:12]}, got {reported[:12]}"
            )

    def wait_until_installed(self, switches: int, progress: Callable[[int, int], object]) -> Installation:
        """Waits until all switches have installed their plan.

        Args:
            switches: number of switches of the fabric.
            progress: called with the number of connected switches, and `switches`.

        Raises:
            ControllerError: the controller ended or stopped reporting, or a switch refused a rule.
        """
        connected: set[int] = set()
        connected_s = 0.0

        def note(report: Report) -> None:
            nonlocal connected_s
            if isinstance(report, Connected):
                connected.add(report.dpid)
                connected_s = report.monotonic_s
            progress(len(connected), switches)
            if self.refusals:
                raise ControllerError(f"a switch refused a rule: {next(iter(self.refusals))}")

        installed = self.wait_for(Installed, timeout_s=SILENCE_TIMEOUT_S, note=note)
        return Installation(connected_s, installed.monotonic_s)

    def wait_until_in_charge(self) -> None:
        """Waits until all switches have installed their plan, or the controller continues without some.

        Raises:
            ControllerError: the controller ended or stopped reporting.
        """
        if not self._in_charge:
            self.wait_for(Installed, Incomplete, timeout_s=SILENCE_TIMEOUT_S)

    def wait_until_recovered(self, timeout_s: float) -> bool:
        """Waits until a plan for the intact fabric is installed; returns False after the timeout."""
        deadline = time.monotonic() + timeout_s
        self.catch_up()
        while self.planned_failure != "none" and time.monotonic() < deadline:
            time.sleep(0.02)
            self.catch_up()
        return self.planned_failure == "none"

    def wait_for_plan(self, failed: Callable[[str], bool], timeout_s: float) -> Replanned | None:
        """Waits for a plan that the controller makes for a failure; `failed` selects the failure by its name.

        Returns:
            The first report of such a plan, which may have arrived earlier; None after the timeout.
        """
        deadline = time.monotonic() + timeout_s
        seen = 0
        while True:
            self.catch_up()
            for replanned in self.replans[seen:]:
                if failed(replanned.failed):
                    return replanned
            seen = len(self.replans)
            if time.monotonic() > deadline:
                return None
            time.sleep(0.01)
