"""A running fabric in Python: programs on hosts, traffic, faults, loads, paths and tables."""

from __future__ import annotations

import atexit
import contextlib
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Unpack, cast

from emulation import requirements
from emulation.capture import capture, require_capture
from emulation.programs import ProgramSupervisor
from emulation.subprocesses import CommandError, add_administration_folders
from experiments.events.base import Event, Ongoing, ignore
from experiments.events.pace import Pace, Unthrottled
from experiments.results.model import PairCheck
from experiments.results.open import Run
from experiments.results.run_directory import FAULTS, kept_directory
from experiments.spec.experiment import Experiment
from experiments.spec.options import RUN, UP
from experiments.spec.resolve import Run as RunSpecification
from experiments.spec.resolve import Session
from polarlab.api.arguments import keywords_in_errors
from polarlab.api.hosts import Host
from polarlab.api.keywords import takes_options
from polarlab.api.requests import Subject, request_of, traffic_request
from polarlab.api.verbs import SessionVerbs
from polarlab.web.address import Web, parse_address, web_address
from topology.addressing import format_ip, switch_name
from topology.base import Topology
from topology.errors import ParameterError, Terminated, UsageError
from topology.parameters import hint

if TYPE_CHECKING:  # imported at run time only after the check for Mininet
    from experiments.observation.timeline import Timeline
    from experiments.session.fabric_session import FabricSession
    from experiments.session.turns import Measuring
    from polarlab.api.keyword_types import TrafficKeywords, UpKeywords
    from polarlab.web.page_server import PageServer

_NOT_CHECKED = PairCheck(0, 0, 0, 0, 0)
# Signals that end a program at once; Python turns Ctrl-C into KeyboardInterrupt.
_END_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Fabric(SessionVerbs):
    """A fabric of real switches and hosts, up within a `with` block, or from `open` to `close`; needs root.

    Nothing of the fabric remains, however the block ends. Processes that the program itself starts within the
    block end with it. A machine can have one fabric at a time.

    Attributes:
        progress: callback for progress events.

    Examples:
        >>> with Fabric("polarfly", q=2, link_rate="5Mbit") as fabric:
        ...     fabric.host("h1_1").run("ping -c 1 h5_1").ok
        ...     fabric.fail("link:s1-s5")
        ...     fabric.path("s1", "s5").paths[0].switches
        True
        ('link:s1-s5',)
        ('s1', 's7', 's5')
        >>> fabric.up
        False
    """

    @takes_options(UP)
    def __init__(
        self,
        topology: Subject,
        /,
        *,
        progress: Callable[[Event], object] = ignore,
        web: Web = None,
        web_open: bool = False,
        **options: Unpack[UpKeywords],
    ) -> None:
        """Checks the request; nothing is launched yet.

        Args:
            topology: family, such as `polarfly`; a graph; or the file of an experiment (.toml), an
                Experiment, results or their folder, whose fabric options apply.
            progress: callback for progress events, at most one every 5 s during a long activity; `print`
                works.
            web: address of the live page, such as `8642` or `127.0.0.1:8642`; True for the latter, None for
                no page.
            web_open: whether every user of this machine may open the page, without a token.
            options: parameters of the family, and options of `polarlab up` by name with underscores,
                such as `hosts=2, routing="ugal-pf", link_rate="10Mbit"`.

        Raises:
            UsageError: an option does not exist, or is outside its domain.
            MachineError: this process does not run as root, or the machine lacks a requirement.
        """
        self._subject = topology
        with keywords_in_errors(topology):
            self._request = request_of(UP, topology, options)
            self._wanted = cast(Session, self._request.resolve())
            if self._wanted.captures and self._request.out is None:
                raise UsageError("--pcap needs a directory for its files; give --out")
        self.progress, self._pace = progress, Pace()
        self._address = web_address(web, open_to_all=web_open)
        self._page: PageServer | None = None
        self._opened: contextlib.ExitStack | None = None
        add_administration_folders()
        requirements.require_emulation()
        if self._wanted.captures:
            require_capture()

    # ---- start and end ----

    def open(self) -> Fabric:
        """Launches the fabric, proves and installs its rules, and returns it; it is up until `close`.

        Raises:
            UsageError: the fabric is already up.
            MachineError: another fabric runs on this machine, or the machine lacks a requirement.
            NegativeResult: the proof of the plan failed; nothing was installed.
        """
        if self._opened is not None:
            raise UsageError("fabric must be closed before it is opened again")
        with contextlib.ExitStack() as opening:
            opening.enter_context(_exit_on_signals())
            with keywords_in_errors(self._subject):
                self._session = self._launched(opening)
            self._supervisor = opening.enter_context(ProgramSupervisor())
            self._check: PairCheck | None = None
            self._opened = opening.pop_all()
        atexit.register(self.close)
        return self

    def _launched(self, opening: contextlib.ExitStack) -> FabricSession:
        """Launches the fabric, its page and its recorder, and returns a session on it.

        Args:
            opening: stack of contexts, whose end takes the fabric, its page and its recorder down.
        """
        from experiments.live_fabric import live_fabric, report_ingress_drops
        from experiments.programs.session_record import SessionRecorder
        from experiments.session.fabric_session import FabricSession

        out = self._request.out
        if self._address:
            from polarlab.web.page_server import PageServer

            self._page = opening.enter_context(PageServer(self._address, self._on_event))
        directory = opening.enter_context(kept_directory(out)) if out else None
        live = opening.enter_context(live_fabric(self._wanted.fabric, self._on_event))

        def report_drops(kind: object, *_error: object) -> None:
            if kind is None:
                with contextlib.suppress(CommandError):  # raised if a switch hangs
                    report_ingress_drops(live.network, self._on_event)

        opening.push(report_drops)
        self.recorder = None
        if directory is None:
            session = opening.enter_context(FabricSession(live, self._on_event))
        else:
            opening.enter_context(capture(live.network, self._wanted.captures, directory.path))
            opening.enter_context(live.network.working_folders_in(directory.path))
            self.recorder = recorder = opening.enter_context(SessionRecorder(live, directory, self._on_event))
            session = FabricSession(live, self._on_event, recorder.keep_traffic, recorder.record_changes)
            opening.enter_context(session)
        if self._page:
            self._watched(self._page, session, opening)
        return session

    def _watched(self, page: PageServer, session: FabricSession, opened: contextlib.ExitStack) -> None:
        """Shows the fabric on a live page until the stack of contexts `opened` ends."""
        opened.enter_context(page.watch(session.fabric, session, self.recorder, self._measured_by_page))

    def web_start(self, web: Web = True, *, web_open: bool = False) -> str:
        """Starts the live page, or restarts its process if that has ended, and returns its address.

        Args:
            web: address of the page, such as `8642` or `127.0.0.1:8642`; True for the latter. An existing
                page keeps its address.
            web_open: whether every user of this machine may open the page, without a token.

        Raises:
            UsageError: the fabric is not up.
            ParameterError: `web` is not an address.
            MachineError: the page cannot listen there.
        """
        session, opened = self.session, self._opened
        if self._page:
            return self._page.restart()
        from polarlab.web.page_server import PageServer

        assert opened is not None  # a fabric with a session is open
        address = web_address(web, open_to_all=web_open) or parse_address(True)
        page = self._page = opened.enter_context(PageServer(address, self._on_event))
        self._watched(page, session, opened)
        return page.url

    def wait_for_viewer(self) -> None:
        """Waits until a browser opens the live page, or Enter is pressed in the terminal.

        Raises:
            UsageError: the fabric has no live page.
        """
        if not self._page:
            raise UsageError("the fabric has no live page; launch it with web=True")
        self._page.wait_for_viewer()

    def _measured_by_page(self, options: Mapping[str, Any], checked: Callable[[], None]) -> Path:
        """Measures traffic that the page requested, and returns the folder of its results.

        Args:
            options: options of the traffic.
            checked: called when the traffic starts, after all checks.
        """
        from experiments.session.turns import PAGE

        folders: list[Path] = []

        def begins(folder: Path) -> None:
            folders.append(folder)
            checked()

        with keywords_in_errors(None):
            try:
                self._traffic(options, PAGE, begins)
            except KeyboardInterrupt:  # a user of the page has stopped the measurement
                if not any(folder.exists() for folder in folders):
                    raise UsageError("the measurement was stopped before it had measured anything") from None
        return folders[0]

    def close(self) -> None:
        """Stops any measurement, which keeps its results so far, and takes the fabric down if it is up."""
        self.__exit__(None, None, None)

    def __enter__(self) -> Fabric:
        return self if self._opened is not None else self.open()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened and self._session.turns.stop_own(then=self.close):  # called by `progress`
            return
        opened, self._opened = self._opened, None
        if opened is not None:
            atexit.unregister(self.close)
            opened.callback(self._session.turns.close)  # runs before the callbacks registered earlier
            opened.__exit__(kind, error, trace)
            self._page = None

    # ---- state and hosts ----

    @property
    def up(self) -> bool:
        """Whether the fabric is up."""
        return self._opened is not None

    @property
    def results(self) -> Run | None:
        """The results of the session after its end; None without the option `out`."""
        out = self._request.out
        return None if out is None else Run(out)

    @property
    def session(self) -> FabricSession:
        """The session, whose verbs this class and the prompt of `polarlab up` share.

        Raises:
            UsageError: the fabric is not up.
        """
        if self._opened is None:
            raise UsageError("fabric is not up; use it in a `with` block, or call open()")
        return self._session

    @property
    def topology(self) -> Topology:
        """The graph of the fabric's routers."""
        return self._wanted.fabric.topology

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of the fabric's hosts, router by router."""
        return tuple(host.name for host in self.session.fabric.hosts)

    @property
    def switches(self) -> tuple[str, ...]:
        """The names of the fabric's switches."""
        return tuple(map(switch_name, range(self.topology.routers)))

    def host(self, name: str) -> Host:
        """Returns a host, or a switch, to run programs on.

        Args:
            name: its name, such as `h1_1` or `s1`.

        Raises:
            ParameterError: the fabric has no such host or switch.
        """
        network = self.session.fabric.network
        if name not in (*self.hosts, *self.switches):
            names = f"{self.hosts[0]} to {self.hosts[-1]} or a switch, s1 to {self.switches[-1]}"
            nearest = hint(name, (*self.hosts, *self.switches))
            raise ParameterError(f"host must be one of {names}, got {name!r}{nearest}")
        address = next((format_ip(host.ip) for host in self.session.fabric.hosts if host.name == name), "")
        node = network[name]
        return Host(name, address, node.pid, node.start_program, network.run_dir, self._supervisor)

    # ---- measurements ----

    @takes_options(RUN, of_traffic=True)
    def traffic(self, **options: Unpack[TrafficKeywords]) -> Run:
        """Runs traffic, measures it, and returns the results; existing failures remain.

        Args:
            options: options of `polarlab run` for traffic, programs, captures and the folder, by name
                with underscores, such as `pattern="tornado", load=0.6, duration=10, out="results/tornado"`.

        Raises:
            UsageError: an option does not exist, belongs to the fabric, or is outside its domain; another
                measurement is running; or the controller avoids a link that has not failed.
            NegativeResult: packets did not take the planned paths; the folder has the results.
            KeyboardInterrupt: Ctrl-C, or `stop_measurement`; the folder has the measurements until then.
        """
        from experiments.session.turns import PROGRAM

        with keywords_in_errors(None):
            return self._traffic(options, PROGRAM)

    def _traffic(
        self, options: Mapping[str, Any], by: str, begins: Callable[[Path], None] = lambda _folder: None
    ) -> Run:
        """Runs and measures traffic, for `traffic` and for the page.

        Args:
            options: options of the traffic.
            by: who measures, PAGE or PROGRAM.
            begins: called with the folder of the results when the traffic starts.
        """
        with self.session.turns.measurement(by) as measuring:
            request, run = self._traffic_request(options)
            measuring.seconds = run.seconds
            folder = request.folder(run)
            self._measure(run, folder, measuring, lambda: begins(folder))
        return Run(folder)

    def _traffic_request(self, options: Mapping[str, Any]) -> tuple[Experiment, RunSpecification]:
        """Returns (experiment, specification) for options of traffic, with the current routing."""
        session = self.session
        routing = session.fabric.controller.routing
        changed = routing if routing != session.fabric.options.routing else None
        request = traffic_request(self._request, options, changed)
        return request, cast(RunSpecification, request.resolve())

    def _measure(
        self, run: RunSpecification, folder: Path, measuring: Measuring, begins: Callable[[], None]
    ) -> None:
        """Measures traffic and writes the results into a folder; no verb changes the fabric meanwhile.

        Args:
            run: specification of the traffic.
            folder: the folder.
            measuring: the measurement, whose `check` raises KeyboardInterrupt when it is stopped.
            begins: called when the traffic of a pattern or a collective starts.
        """
        from experiments.events.marks import CollectiveStarted, TrafficStarted
        from experiments.pair_check import check_all_pairs
        from experiments.run import run_on_fabric
        from experiments.session.agreement import wait_until_planned

        def on_event(event: Event) -> None:
            if isinstance(event, Ongoing):
                measuring.check()
            if isinstance(event, TrafficStarted | CollectiveStarted):
                begins()
            self._on_event(event)

        session = self.session
        if session.traffic_status() is not None:
            raise UsageError("background traffic is running; stop it first")
        active_failures = session.active_failures()
        wait_until_planned(session, active_failures, measuring, self._on_event)
        experiment = _manifest_experiment(run, failed=bool(active_failures))
        fabric = replace(session.fabric.options, experiment=experiment, routing=run.fabric.routing)
        live = session.fabric.changed(options=fabric, active_failures=active_failures)
        if self._check is None and not active_failures:
            self._check = check_all_pairs(session.fabric, on_event)
        run_on_fabric(live, run, folder, on_event, check=self._check or _NOT_CHECKED)

    @property
    def url(self) -> str | None:
        """The address of the live page, with its token if it has one; None without a page."""
        return self._page.url if self._page and self.up else None

    @property
    def timeline(self) -> Timeline | None:
        """All events since the live page was opened; None without a page."""
        return self._page.timeline if self._page else None

    def _on_event(self, event: Event) -> None:
        if self._page:
            self._page.on_event(event)
        if isinstance(self.progress, Unthrottled) or self._pace.due(event):
            self.progress(event)

    def __repr__(self) -> str:
        return f"<Fabric {self.topology!r} {'up' if self.up else 'down'}>"


def _manifest_experiment(run: RunSpecification, *, failed: bool) -> Mapping[str, Any] | None:
    """Returns a run's experiment for its manifest, as JSON types; None if the fabric has no experiment.

    Args:
        run: the run.
        failed: whether failures are present from the start; the experiment then names the file with them.
    """
    experiment = run.fabric.experiment
    if experiment is None or not failed:
        return experiment
    return {**experiment, "traffic": {**experiment.get("traffic", {}), "faults": FAULTS}}


@contextlib.contextmanager
def _exit_on_signals() -> Iterator[None]:
    """Turns signals that would kill the program into SystemExit, so that the block cleans up."""
    chosen = []
    if threading.current_thread() is threading.main_thread():
        chosen = [number for number in _END_SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    for number in chosen:
        signal.signal(number, _end)
    try:
        yield
    finally:
        for number in chosen:
            signal.signal(number, signal.SIG_DFL)


def _end(number: int, _frame: object) -> None:
    raise Terminated(128 + number)
