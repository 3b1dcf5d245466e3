"""Handlers of the page's actions in the fabric's process: each one of `actions`, and nothing else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from experiments.observation.observer import Observer
from experiments.observation.switch_tables import read_switch
from experiments.programs.session_record import SessionRecorder
from experiments.results.link_loads import directed_links
from experiments.session.fabric_session import FabricSession
from experiments.session.routing_parameters import changeable_parameters, parse_assignments
from experiments.session.turns import PAGE, FabricBusy
from experiments.spec.options import RUN, options_of
from experiments.theory.explain import paths_between
from experiments.theory.geometry import lines_between
from polarlab.web.actions import BY_NAME
from polarlab.web.archive import Results
from polarlab.web.channel import Answer
from polarlab.web.wording import wording
from routing.registry import routing as routing_named
from topology.addressing import switch_name
from topology.errors import NegativeResult, ParameterError, PolarLabError, UsageError
from topology.failures import failure_of
from topology.faults import Element, ElementKind, parse_elements

_MEASUREMENTS = ("measure", "measure-collective", "stop-measurement")
# Measures traffic by some options, calls the function once they are checked, and returns the results' folder.
Measure = Callable[[Mapping[str, Any], Callable[[], None]], Path]


@dataclass
class Handlers:
    """The actions on one fabric, each by its name.

    Attributes:
        session: the session on it; None where an experiment has the fabric for itself.
        observer: its observer.
        recorder: what keeps the session; None if nothing does.
        measure: measures traffic, and returns the folder of the results; None where that is not possible.
    """

    session: FabricSession
    observer: Observer
    recorder: SessionRecorder | None = None
    measure: Measure | None = None

    def __post_init__(self) -> None:
        self._kept = Results()

    @property
    def busy(self) -> str:
        """The measurement that has the fabric for itself, in words; empty for none."""
        return str(self.session.turns.measuring or "")

    @property
    def allowed(self) -> tuple[str, ...]:
        """The names of the actions that are possible."""
        without = {"recording"} if self.measure else {"recording", *_MEASUREMENTS}
        if not self.session.routing_status().values:
            without.add("set-routing")
        return tuple(name for name in BY_NAME if name not in without)

    def do(self, number: int, name: str, arguments: bytes) -> Answer:
        """Does an action, and returns its answer: a status of HTTP, and a body.

        Args:
            number: number of the request.
            name: name of the action.
            arguments: what it needs, in JSON; read by the action's type, as its sender is not trusted.
        """
        if name not in self.allowed:
            return Answer(number, 409, {"error": f"{name} is not possible here"})
        action = BY_NAME[name]
        try:
            request = msgspec.json.decode(arguments, type=action.request)
            _refuse_files(request)
            if name == "download":
                folder, archive = self._kept.archive(**msgspec.structs.asdict(request))
                return Answer(number, 200, None, file=archive, file_name=f"{folder}.zip")
            body = getattr(self, f"_{name.replace('-', '_')}")(**msgspec.structs.asdict(request))
            return Answer(number, 200, body)
        except msgspec.MsgspecError as error:
            return Answer(number, 400, {"error": wording(error, action.request)})
        except (UnicodeDecodeError, RecursionError):
            return Answer(number, 400, {"error": "the body must be JSON in UTF-8, as /openapi.json has it"})
        except (NegativeResult, FabricBusy) as error:
            return Answer(number, 409, {"error": str(error)})
        except (UsageError, ParameterError) as error:
            return Answer(number, 400, {"error": str(error)})
        except PolarLabError as error:
            return Answer(number, 409, {"error": str(error)})
        finally:
            if not action.reads:
                self.observer.look()

    # ---- failures ----

    def _fail(self, elements: str) -> dict[str, Any]:
        return self._changed("fail", elements, self.session.fail)

    def _restore(self, elements: str) -> dict[str, Any]:
        return self._changed("restore", elements, self.session.restore)

    def _changed(self, verb: str, text: str, act: Callable[[str], Any]) -> dict[str, Any]:
        """Makes elements fail, or restores them, under probes; the session's record has the line."""
        session = self.session
        standing = session.standing_failures()
        chosen = standing if text == "all" else session.named(text, to_fail=verb == "fail")
        _check_change(verb, text, chosen, standing)
        others = [element for element in standing if element not in chosen]
        what = f"{verb} {text}"
        hangs = verb == "fail" and any(one.kind is ElementKind.HANG for one in chosen)
        told = f"{what} (the program dies, the links stay up)" if hangs else what
        with session.turns.verb(), self.observer.incident(told, chosen, others), self._noted(what):
            done = act(text)
        return {"elements": [element.name for element in done]}

    @contextlib.contextmanager
    def _noted(self, what: str) -> Iterator[None]:
        """Has the session's record keep an action."""
        if self.recorder is None:
            yield
            return
        with self.recorder.line(f"page: {what}", self.session.standing_failures) as statuses:
            yield
            statuses.append(0)

    def _drain(self, elements: str) -> dict[str, Any]:
        outcome = self.session.drain(elements)
        self.observer.timeline.add("action", str(outcome))
        return {"outcome": str(outcome)}

    def _undrain(self, elements: str) -> dict[str, Any]:
        outcome = self.session.undrain(elements)
        self.observer.timeline.add("action", str(outcome))
        return {"outcome": str(outcome)}

    # ---- traffic ----

    def _start_traffic(self, pattern: str, load: float, seed: int) -> dict[str, Any]:
        self.session.start_traffic(pattern, load, seed)
        self.observer.timeline.add("traffic", f"{pattern} traffic at {load:g} of the hosts' capacity begins")
        return {}

    def _stop_traffic(self) -> dict[str, Any]:
        outcome = self.session.stop_traffic()
        text = (
            f"{outcome.pattern} traffic has ended after {outcome.seconds:.1f} s: offered "
            f"{outcome.offered:.3f}, accepted {outcome.accepted:.3f}; {outcome.received_packets} of "
            f"{outcome.sent_packets} packets arrived"
        )
        self.observer.timeline.add("traffic", text)
        return vars(outcome)

    # ---- the adaptation ----

    def _routing(self) -> dict[str, Any]:
        return vars(self.session.routing_status())

    def _set_routing(self, parameters: str) -> dict[str, Any]:
        values = parse_assignments(parameters)
        declared = changeable_parameters(routing_named(self.session.routing_status().name))
        _refuse({one.name for one in declared if one.file} & {word.replace("_", "-") for word in values})
        with self._noted(f"routing {parameters}"):
            status = self.session.set_routing(values)
        return vars(status)

    # ---- measurements ----

    def _measure(
        self, pattern: str, load: float, seed: int, duration: float, warmup: float
    ) -> dict[str, Any]:
        options = {"pattern": pattern, "load": load, "seed": seed, "duration": duration, "warmup": warmup}
        return self._measured(options, f"{pattern} traffic at {load:g} is measured for {duration:g} s")

    def _measure_collective(
        self, pattern: str, message_bytes: str, iterations: int, ranks: int, seed: int
    ) -> dict[str, Any]:
        options: dict[str, Any] = {
            "pattern": pattern,
            "message_bytes": message_bytes,
            "iterations": iterations,
            "seed": seed,
        }
        if ranks:
            options["ranks"] = ranks
        return self._measured(options, f"{pattern} of {message_bytes} is measured {iterations} times")

    def _measured(self, options: Mapping[str, Any], text: str) -> dict[str, Any]:
        """Measures traffic, told by a text, into a folder of results."""
        assert self.measure
        folder = self.measure(options, lambda: self.observer.timeline.add("traffic", text))
        self._kept.add(folder)
        self.observer.timeline.add("traffic", f"measured: {folder.name}")
        return {"name": folder.name}

    def _stop_measurement(self) -> dict[str, Any]:
        self.session.turns.stop(PAGE)
        self.observer.timeline.add("traffic", "the measurement stops; its folder keeps what was measured")
        return {}

    def _results(self) -> list[str]:
        return self._kept.names

    # ---- looks ----

    def _switch(self, switch: str) -> dict[str, Any]:
        fabric = self.session.fabric
        tables = read_switch(fabric, switch)
        hosts = [
            {"name": host.name, "lately": self.observer.lately(self.observer.links + place)[-1:]}
            for place, host in enumerate(fabric.hosts)
            if switch_name(host.router) == switch
        ]
        return {**vars(tables), "adaptive": [vars(group) for group in tables.adaptive], "hosts": hosts}

    def _link(self, link: str) -> dict[str, Any]:
        fabric = self.session.fabric
        places = {one.name: place for place, one in enumerate(directed_links(fabric.options.topology))}
        for place, host in enumerate(fabric.hosts):
            places[f"{switch_name(host.router)}-{host.name}"] = self.observer.links + place
        first, _, second = link.partition("-")
        names = [name for name in (f"{first}-{second}", f"{second}-{first}") if name in places]
        if not names:
            examples = f"{next(iter(places))} or {list(places)[-1]}"
            raise ParameterError(f"link must be one of the fabric, as {examples}, got {link!r}")
        columns = ("time_s", "load", "waiting", "dropped")
        return {
            name: [dict(zip(columns, row, strict=True)) for row in self.observer.lately(places[name])]
            for name in names
        }

    def _path(self, source: str, destination: str, without: str) -> dict[str, Any]:
        fabric = self.session.fabric
        report = self.session.path(source, destination)
        names = {host.name: host for host in fabric.hosts}
        ends = names[report.source], names[report.destination]
        topology = fabric.options.topology
        body: dict[str, Any] = {
            "source": report.source,
            "destination": report.destination,
            "failed": report.failed,
            "words": lines_between(topology, ends[0].router, ends[1].router),
            "paths": [vars(path) for path in report.paths],
            "alternatives": [vars(path) for path in report.alternatives],
            "probes": report.probes,
            "lost": report.lost,
            "without": [],
        }
        if without:
            elements = parse_elements(without, topology, 1)
            if any(one.kind not in (ElementKind.LINK, ElementKind.SWITCH) for one in elements):
                raise ParameterError(f"without must be links and switches, got {without!r}")
            paths, _ = paths_between(fabric.plan, *ends, failure_of(topology, elements))
            body["without"] = [vars(path) for path in paths]
        return body


def _check_change(verb: str, text: str, chosen: Sequence[Element], standing: Sequence[Element]) -> None:
    """Raises UsageError if all elements have failed already, or none that is to be restored has."""
    places = {(one.kind, one.routers, one.host) for one in standing}  # parallel links among them
    if verb == "fail" and all(one in standing for one in chosen):
        raise UsageError(f"{text} has failed already")
    if verb == "restore" and places.isdisjoint((one.kind, one.routers, one.host) for one in chosen):
        raise UsageError("nothing has failed" if text == "all" else f"{text} has not failed")


def _refuse_files(request: msgspec.Struct) -> None:
    """Raises UsageError if a value of a request names a file, by the declaration of its option.

    The fabric's process may read every file; those who reach the page may not.
    """
    declared = {option.key: option for option in options_of(RUN)}
    values = msgspec.structs.asdict(request)
    _refuse({name for name, value in values.items() if name in declared and declared[name].file_named(value)})


def _refuse(names: Collection[str]) -> None:
    if names:
        raise UsageError(
            f"{min(names)} must not name a file here; give files to `polarlab run` or at the prompt"
        )
