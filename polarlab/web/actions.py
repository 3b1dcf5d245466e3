"""All actions that a page or a program may request of a fabric, each declared once.

The web process reads the declarations; the fabric's process performs the actions. The modules for this are
imported only there, at first use.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from polarlab.api.verb import MAX_CHARACTERS, ONE_LINE, Button, Field, Http, Page, Verb, verb, verbs_of
from polarlab.api.verbs import LOAD, LOAD_FIELD, PATTERN_FIELD, SEED, SessionVerbs

if TYPE_CHECKING:  # at run time only in the fabric's process
    from experiments.maintenance import DrainOutcome
    from experiments.observation.model import FabricDescription, FabricState
    from experiments.observation.observer import Observer
    from experiments.observation.recording import Recording
    from experiments.programs.session_record import SessionRecorder
    from experiments.results.parts.programs import TrafficOutcome
    from experiments.session.fabric_session import FabricSession
    from experiments.session.routing_parameters import RoutingStatus
    from topology.parameters import Value

# Function that measures traffic with given options, calls its second argument once the options are checked,
# and returns the results folder.
Measure = Callable[[Mapping[str, Any], Callable[[], None]], Path]

_MEASUREMENTS = ("measure", "measure-collective", "stop-measurement")


class PageVerbs(SessionVerbs):
    """The verbs of a session, shown on the page's timeline, and further verbs that only pages have.

    Attributes:
        observer: the observer of the fabric.
    """

    def __init__(
        self,
        session: FabricSession,
        observer: Observer,
        recorder: SessionRecorder | None = None,
        measure: Measure | None = None,
    ) -> None:
        """Prepares the verbs.

        Args:
            session: the session on the fabric.
            observer: the observer of the fabric.
            recorder: records the session; None if it is not recorded.
            measure: measures traffic and returns the results folder; None if that is not possible.
        """
        from polarlab.web.archive import Results

        super().__init__(session, recorder)
        self.observer, self._measure, self._kept = observer, measure, Results()

    @property
    def busy(self) -> str:
        """Description of the measurement that uses the fabric exclusively; empty if there is none."""
        return str(self.session.turns.measuring or "")

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names of the available actions."""
        without = set() if self._measure else set(_MEASUREMENTS)
        if not self.session.routing_status().values:
            without.add("set-routing")
        return tuple(one.name for one in verbs_of(PageVerbs) if one.http.path and one.name not in without)

    def report_now(self) -> None:
        """Updates the page at once after a change."""
        self.observer.report_now()

    # ---- failures ----

    def fail(self, elements: str) -> tuple[str, ...]:
        """Makes links or switches fail, and probes meanwhile; see `SessionVerbs.fail`.

        Refuses if all of them have failed already.
        """
        with self._incident("fail", elements):
            return super().fail(elements)

    def restore(self, elements: str = "all") -> tuple[str, ...]:
        """Restores links or switches, with probes; see `SessionVerbs.restore`. Refuses if none has failed."""
        with self._incident("restore", elements):
            return super().restore(elements)

    @contextlib.contextmanager
    def _incident(self, verb: str, text: str) -> Iterator[None]:
        """Sends probes during a failure or a restoration; refuses one that would change nothing."""
        from polarlab.web.inspection import check_change
        from topology.faults import ComponentKind

        session = self.session
        active_failures = session.active_failures()
        chosen = active_failures if text == "all" else session.named(text, to_fail=verb == "fail")
        check_change(verb, text, chosen, active_failures)
        others = [component for component in active_failures if component not in chosen]
        hangs = verb == "fail" and any(one.kind is ComponentKind.HANG for one in chosen)
        title = f"{verb} {text}" + (" (the program dies, the links stay up)" if hangs else "")
        with session.turns.verb(), self.observer.incident(title, chosen, others):
            yield

    def drain(self, elements: str, *, force: bool = False) -> DrainOutcome:
        """Drains links or switches; see `SessionVerbs.drain`."""
        return self._with_entry(super().drain(elements, force=force))

    def undrain(self, elements: str = "all") -> DrainOutcome:
        """Lets traffic use drained links or switches again; see `SessionVerbs.undrain`."""
        return self._with_entry(super().undrain(elements))

    def _with_entry(self, outcome: DrainOutcome) -> DrainOutcome:
        self.observer.timeline.add("action", str(outcome))
        return outcome

    @contextlib.contextmanager
    def _noted(self, line: str) -> Iterator[None]:
        with super()._noted(f"page: {line}"):
            yield

    # ---- traffic and the adaptation ----

    def start_traffic(self, pattern: str = "uniform", load: float = 0.3, seed: int = 1) -> None:
        """Starts background traffic; see `SessionVerbs.start_traffic`."""
        super().start_traffic(pattern, load, seed)
        self.observer.timeline.add("traffic", f"{pattern} traffic starts at {load:g} of the hosts' capacity")

    def stop_traffic(self) -> TrafficOutcome:
        """Stops the background traffic; see `SessionVerbs.stop_traffic`."""
        outcome = super().stop_traffic()
        text = (
            f"{outcome.pattern} traffic ended after {outcome.seconds:.1f} s: offered "
            f"{outcome.offered:.3f}, accepted {outcome.accepted:.3f}; {outcome.received_packets} of "
            f"{outcome.sent_packets} packets arrived"
        )
        self.observer.timeline.add("traffic", text)
        return outcome

    def set_routing(self, **values: Value) -> RoutingStatus:
        """Changes parameters of the routing; see `SessionVerbs.set_routing`. Refuses files."""
        from experiments.session.routing_parameters import changeable_parameters
        from polarlab.web.handlers import refuse
        from routing.registry import routing as routing_named

        declared = changeable_parameters(routing_named(self.session.routing_status().name))
        refuse({one.name for one in declared if one.file} & {word.replace("_", "-") for word in values})
        return super().set_routing(**values)

    # ---- measurements ----

    @verb(
        http=Http(
            "POST",
            "/api/results",
            "name",
            limits={
                "load": LOAD,
                "seed": SEED,
                "duration": msgspec.Meta(ge=0.1, le=3600),
                "warmup": msgspec.Meta(ge=0, le=3600),
            },
        ),
        page=Page(
            [Button("measure", "traffic")],
            {"pattern": PATTERN_FIELD, "load": LOAD_FIELD, "duration": Field("seconds", step=0.1)},
            without=["warmup"],
        ),
    )
    def measure(
        self,
        pattern: str = "uniform",
        load: float = 0.3,
        seed: int = 1,
        duration: float = 10.0,
        warmup: float = 2.0,
    ) -> str:
        """Measures traffic, and returns the name of the results folder.

        Args:
            pattern: traffic pattern between all hosts.
            load: offered load, as a fraction of the hosts' injection capacity.
            seed: seed of the random generator.
            duration: length of the measurement window in s.
            warmup: length of the warm-up in s.
        """
        options = {"pattern": pattern, "load": load, "seed": seed, "duration": duration, "warmup": warmup}
        return self._measured(options, f"{pattern} traffic at {load:g} is measured for {duration:g} s")

    @verb(
        http=Http(
            "POST",
            "/api/collectives",
            "name",
            limits={
                "iterations": msgspec.Meta(ge=1, le=100_000),
                "ranks": msgspec.Meta(ge=0, le=1_000_000),
                "seed": SEED,
            },
        ),
        page=Page(
            [Button("measure", "traffic")],
            {
                "pattern": Field(choices="collectives"),
                "message_bytes": Field("message", value="64KiB", size=7),
                "iterations": Field("times"),
            },
            without=["ranks"],
        ),
    )
    def measure_collective(
        self,
        pattern: str = "allreduce",
        message_bytes: str = "256KiB",
        iterations: int = 3,
        ranks: int = 0,
        seed: int = 1,
    ) -> str:
        """Measures a collective operation, and returns the name of the results folder.

        Args:
            pattern: the operation, with its algorithm if not the default, such as `allreduce:ring`.
            message_bytes: sizes of messages, such as `64KiB,1MiB`.
            iterations: operations per size.
            ranks: number of participating hosts; 0 for all.
            seed: seed of the random generator.
        """
        options: dict[str, Any] = {
            "pattern": pattern,
            "message_bytes": message_bytes,
            "iterations": iterations,
            "seed": seed,
        }
        if ranks:
            options["ranks"] = ranks
        return self._measured(options, f"{pattern} of {message_bytes} is measured {iterations} times")

    def _measured(self, options: Mapping[str, Any], text: str) -> str:
        """Measures traffic, with entries on the timeline, and returns the folder's name."""
        assert self._measure
        folder = self._measure(options, lambda: self.observer.timeline.add("traffic", text))
        self._kept.add(folder)
        self.observer.timeline.add("traffic", f"measured: {folder.name}")
        return folder.name

    @verb(
        http=Http("DELETE", "/api/results", at_once=True),
        page=Page([Button("stop measuring", "traffic")]),
    )
    def stop_measurement(self) -> None:
        """Stops the page's measurement; its folder keeps the results so far."""
        from experiments.session.turns import PAGE

        self.session.turns.stop(PAGE)
        self.observer.timeline.add("traffic", "the measurement stops; its folder keeps the results so far")

    @verb(http=Http("GET", "/api/results"))
    def results(self) -> list[str]:
        """Lists the results folders of this session."""
        return self._kept.names

    @verb(http=Http("GET", "/api/results/{name}", reply="application/zip"))
    def download(self, name: str) -> tuple[str, bytes]:
        """Returns a results folder as a ZIP archive.

        Args:
            name: name of the folder.
        """
        return self._kept.archive(name)

    # ---- queries ----

    @verb(http=Http("GET", "/api/switches/{switch}"))
    def switch(self, switch: str) -> dict[str, Any]:
        """Returns rules, groups and counters of a switch.

        Args:
            switch: the switch, such as `s3`.
        """
        from polarlab.web.inspection import inspect_switch

        return inspect_switch(self.session.fabric, self.observer, switch)

    @verb(http=Http("GET", "/api/links/{link}"))
    def link(self, link: str) -> dict[str, Any]:
        """Returns load, queue and drops of a link in the last minute.

        Args:
            link: the link, such as `s1-s7`, or a host's link, such as `s1-h1_1`.
        """
        from polarlab.web.inspection import inspect_link

        return inspect_link(self.session.fabric, self.observer, link)

    @verb(
        http=Http(
            "GET",
            "/api/path",
            limits={"without": msgspec.Meta(max_length=MAX_CHARACTERS, pattern=ONE_LINE)},
        ),
        page=Page(
            [Button("show", "path")],
            {
                "source": Field("from", choices="names", size=6),
                "destination": Field("to", choices="names", size=6),
                "without": Field(size=9),
            },
        ),
        name="path",
    )
    def path_without(self, source: str, destination: str, without: str = "") -> dict[str, Any]:
        """Returns the path between two hosts, its alternatives and probes.

        Args:
            source: name of a host, or of a switch, which stands for its first host.
            destination: name of a host or switch at another router.
            without: links or switches, such as `link:s1-s7`; adds the path that is used if they fail.
        """
        from polarlab.web.inspection import inspect_path

        report = self.path(source, destination)
        return inspect_path(self.session.fabric, report, without)


class ReplayVerbs:
    """The verbs of a page that replays finished results.

    Attributes:
        busy: always empty: a replay does not occupy a fabric.
        allowed: the names of the available actions.
    """

    busy = ""

    def __init__(self, recording: Recording, choose: Callable[[str], object] | None = None) -> None:
        """Prepares the verbs for finished results.

        Args:
            recording: the results.
            choose: shows another point of the results; None if they have only one.
        """
        self._recording, self._choose = recording, choose
        self.allowed = ("recording", "show-point") if choose else ("recording",)

    def report_now(self) -> None:
        """Does nothing: finished results do not change."""

    @verb(http=Http("GET", "/api/recording"))
    def recording(self) -> tuple[FabricState, ...]:
        """Returns all states of the replayed results."""
        return self._recording.states

    @verb(http=Http("POST", "/api/point"))
    def show_point(self, point: str) -> None:
        """Shows another point of a sweep, or another seed, to all viewers.

        Args:
            point: its name, one of `points` in /api/fabric.
        """
        from topology.errors import ParameterError

        if point not in self._recording.description.points:
            raise ParameterError(f"point must be one of the results, got {point!r}")
        assert self._choose
        self._choose(point)


def page_of(description: FabricDescription) -> dict[str, Any]:
    """Returns a fabric's description for the page, with the page's buttons and forms in `verbs`."""
    verbs = [one for one in actions().values() if one.buttons]
    _, schemas = msgspec.json.schema_components([one.request for one in verbs])
    declared = [
        {
            "name": one.name,
            "method": one.http.method,
            "path": one.http.path,
            "help": one.summary,
            "buttons": [vars(button) for button in one.buttons],
            "fields": list(_fields(one.page, schemas[one.request.__name__])),
        }
        for one in verbs
    ]
    return {**msgspec.to_builtins(description), "verbs": declared}


def _fields(page: Page, schema: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields the fields of a verb's form; each has its argument's properties in the request's schema."""
    for name, argument in schema["properties"].items():
        if name not in page.without:
            field = page.fields.get(name, Field())
            label = field.label or name.replace("_", " ")
            value = argument.get("default") if field.value is None else field.value
            own = {
                "name": name,
                "label": label,
                "value": value,
                "required": name in schema.get("required", ()),
            }
            yield {**argument, **vars(field), **own}


def actions() -> dict[str, Verb]:
    """Returns name -> action for all actions."""
    return {one.name: one for home in (PageVerbs, ReplayVerbs) for one in verbs_of(home) if one.http.path}
