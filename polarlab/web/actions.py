"""Actions that a page or a program may ask of a fabric: all that there are, with their HTTP requests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import msgspec

# One line of printable ASCII. Python's `$` lets a line break at the end pass; the lookahead means the end of
# the text, in JSON Schema's regular expressions, too.
LINE = r"^[ -~]*(?![\s\S])"
_Text = Annotated[str, msgspec.Meta(min_length=1, max_length=4096, pattern=LINE)]
_Load = Annotated[float, msgspec.Meta(gt=0, le=1)]
_Seed = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]
_Seconds = Annotated[float, msgspec.Meta(ge=0.1, le=3600)]


class Elements(msgspec.Struct, forbid_unknown_fields=True):
    """Elements of a fabric, as in fault schedules: `link:s1-s7,switch:s4`, `hang:s4`, `controller`."""

    elements: _Text


class TrafficRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Traffic of a pattern between all hosts, at a load as a fraction of their injection capacity."""

    pattern: _Text = "uniform"
    load: _Load = 0.3
    seed: _Seed = 1


class MeasurementRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A measurement of traffic, whose results get a folder of their own; times in seconds."""

    pattern: _Text = "uniform"
    load: _Load = 0.3
    seed: _Seed = 1
    duration: _Seconds = 10.0
    warmup: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 2.0


class CollectiveRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A measurement of a collective operation, with sizes as `64KiB,1MiB`; 0 ranks are all hosts."""

    pattern: _Text = "allreduce"
    message_bytes: _Text = "256KiB"
    iterations: Annotated[int, msgspec.Meta(ge=1, le=100_000)] = 3
    ranks: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)] = 0
    seed: _Seed = 1


class RoutingRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Parameters of the routing that hold from now on, as `threshold=0.5,release=0.2`; the others stay."""

    parameters: _Text


class SwitchName(msgspec.Struct, forbid_unknown_fields=True):
    """The name of a switch, as `s3`."""

    switch: _Text


class LinkName(msgspec.Struct, forbid_unknown_fields=True):
    """The name of a link, as `s1-s7`, or of the link of a host, as `s1-h1_1`."""

    link: _Text


class PathRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Two places, switches or hosts, and elements without which the path is asked for as well."""

    source: _Text
    destination: _Text
    without: Annotated[str, msgspec.Meta(max_length=4096, pattern=LINE)] = ""


class ResultName(msgspec.Struct, forbid_unknown_fields=True):
    """The name of a folder of results of this session."""

    name: _Text


class Nothing(msgspec.Struct, forbid_unknown_fields=True):
    """A request without a content."""


@dataclass(frozen=True)
class Action:
    """An action.

    Attributes:
        name: its name, by which a fabric's description lists those that it allows.
        method, path: its HTTP request; names in braces are fields of `request`.
        request: what it needs: the body of a POST or PUT, the path and the query of a GET.
        summary: what it does, a line.
        reply: content type of its answer.
        at_once: whether it is done beside an action that changes the fabric, without waiting for its end.
    """

    name: str
    method: str
    path: str
    request: type[msgspec.Struct]
    summary: str
    reply: str = "application/json"
    at_once: bool = False

    @property
    def reads(self) -> bool:
        """Whether it changes nothing."""
        return self.method == "GET"


ACTIONS = (
    Action("fail", "POST", "/api/fail", Elements, "makes elements fail: cuts links, powers switches off"),
    Action("restore", "POST", "/api/restore", Elements, "restores elements; `all` restores everything"),
    Action("drain", "POST", "/api/drain", Elements, "leads traffic around switches and links"),
    Action("undrain", "POST", "/api/undrain", Elements, "has traffic use drained elements again, or `all`"),
    Action("start-traffic", "POST", "/api/traffic", TrafficRequest, "starts traffic of a pattern"),
    Action("stop-traffic", "DELETE", "/api/traffic", Nothing, "stops the traffic and returns its outcome"),
    Action(
        "measure", "POST", "/api/results", MeasurementRequest, "measures traffic into a folder of results"
    ),
    Action(
        "measure-collective",
        "POST",
        "/api/collectives",
        CollectiveRequest,
        "measures a collective operation into a folder of results",
    ),
    Action(
        "stop-measurement",
        "DELETE",
        "/api/results",
        Nothing,
        "stops what the page measures; its folder keeps what was measured until then",
        at_once=True,
    ),
    Action("routing", "GET", "/api/routing", Nothing, "the routing with the parameters that hold now"),
    Action("set-routing", "POST", "/api/routing", RoutingRequest, "changes parameters of the routing"),
    Action("results", "GET", "/api/results", Nothing, "names of the folders of results of this session"),
    Action(
        "download",
        "GET",
        "/api/results/{name}",
        ResultName,
        "a folder of results as a ZIP archive",
        "application/zip",
    ),
    Action("recording", "GET", "/api/recording", Nothing, "all states of the results that are replayed"),
    Action("switch", "GET", "/api/switches/{switch}", SwitchName, "rules, groups, counters of a switch"),
    Action("link", "GET", "/api/links/{link}", LinkName, "load, queue and drops of a link's last minute"),
    Action(
        "path", "GET", "/api/path", PathRequest, "the path between two places, its alternatives and probes"
    ),
)
BY_NAME = {action.name: action for action in ACTIONS}
