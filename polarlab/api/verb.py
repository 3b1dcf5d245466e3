"""Declarations of verbs: methods of a running fabric, and how the prompt and the live page call them.

    @verb(Line("blink SWITCH [SECONDS]"), Http("POST", "/api/blink"))
    def blink(self, switch: str, seconds: float = 1.0) -> str:
        "Blinks the lights of a switch."

in `SessionVerbs` is a command of the prompt with its help, a method of `polarlab.Fabric`, a request of the
live page's API, an operation of its OpenAPI document, and a form of the page with a button.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeVar

import msgspec

from topology.errors import UsageError
from topology.units import SECONDS, quantity

# One line of printable ASCII. Python's `$` would accept a line break at the end; the lookahead matches only
# the end of the text, also in JSON Schema's regular expressions.
ONE_LINE = r"^[ -~]*(?![\s\S])"
MAX_CHARACTERS = 4096
TEXT = msgspec.Meta(min_length=1, max_length=MAX_CHARACTERS, pattern=ONE_LINE)
JSON = "application/json"
# Name of the argument for a method's keywords, which requests give as text: `threshold=0.5,release=0.2`.
ASSIGNMENTS = "parameters"

_DECLARATION = "__verb__"
_KINDS = (str, int, float, bool)
_TYPES: Mapping[object, type] = {name: kind for kind in _KINDS for name in (kind, kind.__name__)}
_CLAUSE = re.compile(r"(.*?)(?:, and returns\b|[;:.])")
_PLACEHOLDER, _LIST, _ACTION = re.compile(r"[A-Z]+"), re.compile(r"\[,.*?\]"), re.compile(r"\[([a-z]+)\]")
_ARGUMENT = re.compile(r"^ {4}\**(?P<name>\w+): (?P<text>.*(?:\n {8}.*)*)", re.MULTILINE)
_Method = TypeVar("_Method", bound=Callable[..., Any])
# What the prompt prints: lines, and rows of tables.
Shown = Iterable[str | Sequence[Mapping[str, object]]]


def result_shown(_verbs: Any, do: functools.partial[Any]) -> Shown:
    """Runs a verb, and yields its result as text."""
    result = do()
    if result is not None:
        yield str(result)


@dataclass(frozen=True)
class Line:
    """Declaration of a verb's command at the prompt.

    Attributes:
        usage: the line as a user types it, with placeholders: `loads [SECONDS]`; empty if the prompt does not
            have the verb.
        more: further paragraphs of the help.
        alone: yields what the command prints without arguments; None if that is not a special case.
        shown: runs the verb, and yields what the prompt prints.
    """

    usage: str
    more: str = ""
    alone: Callable[[Any], Shown] | None = None
    shown: Callable[[Any, functools.partial[Any]], Shown] = result_shown

    @property
    def action(self) -> str:
        """The word after the command that selects the verb, such as `start` in `traffic start`; or empty."""
        word = self.usage.partition(" ")[2].partition(" ")[0].strip("[]")
        return word if word.islower() else ""

    @property
    def placeholders(self) -> int:
        """The number of arguments."""
        return len(_PLACEHOLDER.findall(_LIST.sub("", self.usage)))


@dataclass(frozen=True)
class Http:
    """Declaration of a verb's request in the live page's API.

    Attributes:
        method: method of the request; empty if the API does not have the verb.
        path: its path; names in braces are arguments.
        key: key of the result in the response's body; empty if the result is the body.
        reply: content type of the response.
        at_once: whether it may run while another verb changes the fabric, without waiting for it.
        limits: domains of arguments; by default, a text is one line.
    """

    method: str = ""
    path: str = ""
    key: str = ""
    reply: str = JSON
    at_once: bool = False
    limits: Mapping[str, msgspec.Meta] = field(default_factory=dict)


@dataclass(frozen=True)
class Button:
    """A button of the live page.

    Attributes:
        label: its text.
        on: where the page has it: `link`, `host link`, `switch` or `controller` for a button on the
            selected component; otherwise the name of a form, in which verbs share fields of the same name.
            `more` has a form for each verb.
        gives: argument -> its text, in which {} stands for the selected component's name or, in a form, for
            the parameters of the routing as launched.
        when: states in which it is shown: `dead`, `off`, `hangs` and `drained` of the selected component,
            `traffic` of a form; empty for always.
        unless: states in which it is hidden.
    """

    label: str
    on: str = "more"
    gives: Mapping[str, str] = field(default_factory=dict)
    when: Collection[str] = ()
    unless: Collection[str] = ()


@dataclass(frozen=True)
class Field:
    """A field of a form of the live page, for arguments that need more than their defaults.

    Attributes:
        label: its name; by default the argument's.
        choices: key of the list of values in the fabric's description, like `patterns`; `names` to suggest
            the names of all hosts and switches; or `parameters` for one field per parameter of the routing.
        value: its initial value; by default the argument's default.
        step: step of a number.
        size: width of a text, in characters.
    """

    label: str = ""
    choices: str = ""
    value: str | float | None = None
    step: float = 0
    size: int = 8


@dataclass(frozen=True)
class Page:
    """Declaration of a verb's buttons and fields on the live page.

    Attributes:
        buttons: its buttons; by default one with its name if the verb changes something.
        fields: argument -> its field.
        without: arguments that the page leaves at their defaults.
    """

    buttons: Sequence[Button] | None = None
    fields: Mapping[str, Field] = field(default_factory=dict)
    without: Collection[str] = ()


@dataclass(frozen=True)
class Verb:
    """A verb with all its declarations.

    Attributes:
        method: name of its method.
        name: its name in the API, which a fabric's description lists if the verb is allowed.
        summary: what it does, in a clause.
        needs: the arguments to give, in words; if set, the method's defaults apply in Python only.
        line: its line at the prompt.
        http: its request to the API.
        page: its buttons on the live page.
        request: type of the request's content: the body of a POST, the path and the query of a GET.
    """

    method: str
    name: str
    summary: str
    needs: str
    line: Line
    http: Http
    page: Page
    request: type[msgspec.Struct]

    @property
    def reads(self) -> bool:
        """Whether the verb's request changes nothing."""
        return self.http.method == "GET"

    @property
    def buttons(self) -> Sequence[Button]:
        """The verb's buttons on the live page."""
        if self.page.buttons is not None:
            return self.page.buttons
        return () if self.reads or not self.http.path else (Button(self.name.replace("-", " ")),)

    @property
    def has_body(self) -> bool:
        """Whether the verb's request has a body."""
        return self.http.method == "POST"

    def call(self, verbs: object, arguments: Mapping[str, Any]) -> functools.partial[Any]:
        """Returns a function without arguments that calls the verb's method with the given arguments.

        Args:
            verbs: the object whose method it is.
            arguments: argument -> value; the method's keywords are one string.

        Raises:
            UsageError: the keywords do not have the form `threshold=0.5`.
        """
        method = getattr(verbs, self.method)
        signature = inspect.signature(method)
        if any(one.kind is one.VAR_KEYWORD for one in signature.parameters.values()):
            from experiments.session.routing_parameters import parse_assignments

            return functools.partial(method, **parse_assignments(arguments[ASSIGNMENTS]))
        bound = signature.bind(**arguments)
        bound.apply_defaults()
        return functools.partial(method, **bound.arguments)


def verb(
    line: Line = Line(""),
    http: Http = Http(),
    page: Page = Page(),
    *,
    name: str = "",
    summary: str = "",
    needs: str = "",
) -> Callable[[_Method], _Method]:
    """Declares a method as a verb.

    Requests may contain the method's arguments except keyword-only ones, which only Python and the prompt
    (as flags like `--force`) accept. Unknown arguments and values of other types are rejected.

    Args:
        line: its line at the prompt.
        http: its request to the API.
        page: its buttons on the live page.
        name: its name in the API; by default the method's, with hyphens.
        summary: what it does, in a clause; by default the first one of the method's docstring.
        needs: the arguments to give, in words; if set, the method's defaults apply in Python only.
    """

    def declared(method: _Method) -> _Method:
        named = name or method.__name__.replace("_", "-")
        request = _request(method, named, http.limits, required=bool(needs))
        found = Verb(
            method.__name__, named, summary or _first_clause(method), needs, line, http, page, request
        )
        setattr(method, _DECLARATION, found)
        return method

    return declared


def verbs_of(home: type) -> tuple[Verb, ...]:
    """Returns the verbs that a class declares or inherits, in the order of their declarations."""
    members = (member for base in reversed(home.__mro__) for member in vars(base).values())
    return tuple(getattr(member, _DECLARATION) for member in members if hasattr(member, _DECLARATION))


def _first_clause(method: Callable[..., Any]) -> str:
    found = _CLAUSE.match(inspect.getdoc(method) or "")
    return found[1] if found else ""


def _request(
    method: Callable[..., Any], name: str, limits: Mapping[str, msgspec.Meta], *, required: bool
) -> type[msgspec.Struct]:
    """Returns the type of a verb's request: a Struct whose fields are the method's arguments.

    Args:
        method: the verb's method.
        name: the verb's name in the API, such as `start-traffic`.
        limits: argument -> its domain.
        required: whether requests must have all arguments, even those with defaults.
    """
    descriptions = {
        match["name"]: match["text"] for match in _ARGUMENT.finditer(inspect.getdoc(method) or "")
    }
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for one in list(inspect.signature(method).parameters.values())[1:]:
        if one.kind is one.KEYWORD_ONLY:
            continue
        key = ASSIGNMENTS if one.kind is one.VAR_KEYWORD else one.name
        kind = str if one.kind is one.VAR_KEYWORD else _TYPES[one.annotation]
        metas = [limits[key]] if key in limits else [TEXT] if kind is str else []
        text = " ".join(descriptions.get(one.name, "").split())
        domain = Annotated[(kind, *metas, msgspec.Meta(description=text))]  # type: ignore[valid-type]
        has_default = one.default is not one.empty and not required
        fields.append((key, domain, one.default) if has_default else (key, domain))
    title = "".join(word.capitalize() for word in name.split("-"))
    return msgspec.defstruct(title, fields, forbid_unknown_fields=True, module=__name__)


# ---- the prompt ----


class Command:
    """A command of the prompt: the verbs whose lines start with its word."""

    def __init__(self, name: str, verbs: Sequence[Verb]) -> None:
        """Creates a command with a name from the verbs whose lines start with it."""
        self.name, self.verbs = name, verbs

    def help(self) -> str:
        """Returns the command's help: a line for each verb, and further paragraphs."""
        usages = [(one.summary, one.line.usage) for one in self.verbs]
        lines = [f"{summary}: {usage}" if " " in usage else summary for summary, usage in usages]
        ended = [line if line.endswith(".") else f"{line}." for line in lines]
        more = [inspect.cleandoc(one.line.more) for one in self.verbs if one.line.more]
        return "\n\n".join(["\n".join(ended), *more])

    def run(self, verbs: object, line: str) -> Shown:
        """Runs the verb of a line, and yields what the prompt prints.

        Args:
            verbs: the object whose methods the verbs are.
            line: the line without the command.

        Raises:
            UsageError: the line is not valid for this command.
        """
        chosen = self._chosen(line)
        words = line.split()[bool(chosen.line.action) :]
        declared = list(inspect.signature(getattr(verbs, chosen.method)).parameters.values())
        flags = {f"--{one.name}": one.name for one in declared if one.kind is one.KEYWORD_ONLY}
        given: dict[str, Any] = {flags[word]: True for word in words if word in flags}
        words = [word for word in words if word not in flags]
        if not words and chosen.line.alone:
            return chosen.line.alone(verbs)
        return chosen.line.shown(
            verbs, chosen.call(verbs, given | self._values(chosen, declared, words, line))
        )

    def _chosen(self, line: str) -> Verb:
        """Returns the verb of this command that a prompt line selects by its action or arguments."""
        first = line.split()[:1]
        if not self.verbs[0].line.action:
            fitting = (one for one in self.verbs if bool(one.line.placeholders) == bool(first))
            return next(fitting, self.verbs[0])
        for one in self.verbs:
            if first == [one.line.action] or (not first and f"[{one.line.action}]" in one.line.usage):
                return one
        raise self._wrong(line)

    def _values(
        self, chosen: Verb, declared: Sequence[inspect.Parameter], words: Sequence[str], line: str
    ) -> dict[str, Any]:
        """Returns argument -> value from the words of a line of the prompt.

        Args:
            chosen: the verb.
            declared: the arguments of its method.
            words: words of the line without the command, the action and flags such as `--force`.
            line: the line without the command, for errors.
        """
        wanted = declared[: chosen.line.placeholders]
        if any(one.kind is one.VAR_KEYWORD for one in wanted):
            return {ASSIGNMENTS: " ".join(words)}
        if chosen.needs and len(wanted) == 1 and not words:
            raise UsageError(f"{self.name} needs {chosen.needs}")
        if chosen.needs and len(wanted) != 1 and len(wanted) != len(words):
            raise UsageError(f"{self.name} needs {chosen.needs}, got {line.strip() or 'none'}")
        if _LIST.search(chosen.line.usage):
            return {wanted[0].name: ",".join(" ".join(words).replace(",", " ").split())}
        if len(wanted) == 1 and (words or wanted[0].default is wanted[0].empty):
            return {wanted[0].name: _typed(wanted[0], " ".join(words))}
        if len(words) > len(wanted) and (wanted or chosen.line.action):
            raise self._wrong(line)
        values = self._by_kind(chosen, wanted, words) if wanted else {}
        if any(one.default is one.empty and one.name not in values for one in wanted):
            raise self._wrong(line)
        return values

    def _by_kind(
        self, chosen: Verb, wanted: Sequence[inspect.Parameter], words: Sequence[str]
    ) -> dict[str, Any]:
        """Returns argument -> value for several words; a number is assigned to the next numeric argument."""
        values: dict[str, Any] = {}
        for word in words:
            numeric = [_TYPES[one.annotation] is not str for one in wanted]
            number = any(numeric) and _is_number(word)
            fitting = (one for one, kind in zip(wanted, numeric, strict=True) if kind == number)
            found = next((one for one in fitting if one.name not in values), None)
            if found is None:
                names = " and ".join(f"a {one.name}" for one in wanted)
                command = f"{self.name} {chosen.line.action}".strip()
                raise UsageError(f"{command} takes {names}, got {' '.join(words)!r}")
            values[found.name] = _typed(found, word)
        return values

    def _wrong(self, line: str) -> UsageError:
        """Returns the error for a line that is not valid for this command."""
        *forms, last = (_ACTION.sub(r"\1", one.line.usage.partition(" ")[2]) for one in self.verbs)
        needs = f"{', '.join(forms)} or {last}" if forms else last
        return UsageError(f"{self.name} needs {needs}, got {line.strip()!r}")


def commands_of(home: type) -> dict[str, Command]:
    """Returns the prompt's commands for the verbs of a class, by name."""
    verbs: dict[str, list[Verb]] = {}
    for one in verbs_of(home):
        if one.line.usage:
            verbs.setdefault(one.line.usage.partition(" ")[0], []).append(one)
    return {name: Command(name, declared) for name, declared in verbs.items()}


def _typed(parameter: inspect.Parameter, word: str) -> str | int | float:
    """Converts a word of a line to the type of an argument; raises UsageError if that is not possible."""
    kind = _TYPES[parameter.annotation]
    try:
        time_s = quantity("seconds", word, SECONDS) if parameter.name == "seconds" else None
        value: str | int | float = kind(word) if time_s is None else float(time_s)
    except ValueError:
        number = "a whole number" if kind is int else "a number"
        raise UsageError(f"{parameter.name} must be {number}, got {word!r}") from None
    return value


def _is_number(word: str) -> bool:
    with contextlib.suppress(ValueError):
        float(word)
        return True
    return False
