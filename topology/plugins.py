"""Registries of definitions by name: PolarLab's own and those of plug-ins.

A plug-in is an installed package with entry points, a file given with `--plugin`, or a definition registered
from Python. Installed packages are searched only if a name is otherwise unknown or all names are listed,
because this search takes longer than most commands need to start.
"""

from __future__ import annotations

import inspect
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from topology.errors import ParameterError, PolarLabError, Terminated, UsageError
from topology.files.escaping import quoted
from topology.parameters import Parameter, spelled

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint
    from types import FrameType

Definition = TypeVar("Definition")
T = TypeVar("T")

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SPELLING = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")  # of a name, as users may write it
_SHOWN_DIGITS = 12  # digits of a digest in messages
_registries: dict[str, Registry[Any]] = {}  # by group, such as "routings"


@dataclass(frozen=True)
class Plugin:
    """The origin of a definition that is not PolarLab's own.

    Attributes:
        name: name of the file or of the installed package.
        version: version of the package; empty for a file.
        content: the file's bytes, exactly as run; None for a package and for definitions from Python.
        module: the package module that contains the definition; empty for anything else.
    """

    name: str
    version: str = ""
    content: bytes | None = None
    module: str = ""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file or of the package's modules; empty for definitions from Python."""
        from topology.files.plugin_files import package_digest
        from topology.files.reading import digest_of

        return package_digest(self.module) if self.module else digest_of(self.content)

    def __str__(self) -> str:
        """Returns the name, the version and the digest, as stored in results."""
        digest = f"sha256:{self.digest}" if self.digest else ""
        return " ".join(filter(None, (self.name, self.version, digest)))


PYTHON = Plugin("Python")
_running: list[Plugin] = [PYTHON]  # a stack: the last one is registering now


class Call(NamedTuple):
    """A function of a definition and the arguments that PolarLab passes to it; used to check its signature.

    Attributes:
        function: the function.
        places: names of the arguments that are passed by position.
        parameters: the declared parameters of the definition, which are passed by keyword.
    """

    function: Callable[..., object]
    places: Sequence[str]
    parameters: Sequence[Parameter] = ()


class Places(Mapping[str, Definition], Generic[Definition]):
    """Read-only mapping from name to definition that imports a definition when it is looked up.

    Iteration and `in` import nothing.
    """

    def __init__(self, places: Mapping[str, str | Callable[[], Definition]]) -> None:
        """Creates the mapping.

        Args:
            places: name -> module and attribute of the definition, such as
                `topology.families.classic.torus:FAMILY`, or a function that returns the definition.
        """
        self._places = places

    def __getitem__(self, name: str) -> Definition:
        place = self._places[name]
        definition: Definition = resolve_name(place) if isinstance(place, str) else place()
        return definition

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class Registry(Mapping[str, Definition], Generic[Definition]):
    """Definitions of one kind, by command-line name.

    Lookup, `in` and iteration include installed plug-ins; iteration yields their names last, without
    importing them. Lookup and `in` accept every spelling that `spelled` understands.

    Attributes:
        group: the kind in the plural; the entry-point group is `polarlab.` followed by it.
        noun: the kind, for messages.
        kind: the class of the definitions.
        own: PolarLab's own definitions.
    """

    def __init__(
        self,
        group: str,
        noun: str,
        kind: type,
        own: Mapping[str, Definition],
        calls: Callable[[str, Definition], Iterable[Call]],
    ) -> None:
        """Creates the registry and makes it known to `register`.

        Args:
            group: see the attributes.
            noun: see the attributes.
            kind: see the attributes.
            own: see the attributes.
            calls: (name, definition) -> the calls that its functions must accept; raises ParameterError if
                the definition is invalid in another way.
        """
        self.group, self.noun, self.kind, self.own = group, noun, kind, own
        self._calls = calls
        self._added: dict[str, tuple[Definition, Plugin]] = {}
        _registries[group] = self

    def loaded(self) -> list[str]:
        """Returns the names of the definitions of PolarLab and of loaded plug-ins; searches no packages."""
        return [*self.own, *self._added]

    def spelled(self, text: str) -> str:
        """Returns a text whose leading name is replaced by the registry's own spelling; parameters stay.

        Args:
            text: a name such as `UGAL_PF`, alone or with parameters; an unknown name stays as it is.
        """
        name, colon, rest = text.partition(":")
        return f"{self._find(name) or name}{colon}{rest}"

    def plugin_of(self, name: str) -> Plugin | None:
        """Returns the plug-in that defines a name, after loading it if needed.

        None for a name of PolarLab's own, and for an unknown name.
        """
        known = self._find(name)
        return None if known is None or known in self.own else self._entry(known)[1]

    def __contains__(self, name: object) -> bool:
        """Returns whether a definition of that name exists, without importing it."""
        return isinstance(name, str) and self._find(name) is not None

    def __getitem__(self, name: str) -> Definition:
        """Returns a definition.

        Args:
            name: its name.

        Raises:
            KeyError: the name is unknown.
            UsageError: its plug-in cannot be imported, or the definition is invalid.
        """
        known = self._find(name)
        if known is None:
            raise KeyError(name)
        return self.own[known] if known in self.own else self._entry(known)[0]

    def _find(self, name: str) -> str | None:
        """Returns the registry's own spelling of a name; None if no definition has that name."""
        if not _SPELLING.fullmatch(name):
            return None
        loaded = self.loaded()
        known = spelled(name, loaded)
        if known in loaded:
            return known
        if _owner(name):
            return None
        installed = _installed(self.group)
        known = spelled(name, installed)
        return known if known in installed else None

    def __iter__(self) -> Iterator[str]:
        """Yields all names: first PolarLab's own, then those of loaded and of installed plug-ins."""
        yield from self.own
        yield from [*self._added]
        yield from sorted(_installed(self.group).keys() - self._added)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _entry(self, name: str) -> tuple[Definition, Plugin]:
        if name not in self._added:
            entry = _installed(self.group)[name]
            plugin = _package_of(entry)
            with registering(plugin, f"plug-in {name} of the package {plugin.name}"):
                self.add(name, entry.load())
        return self._added[name]

    def add(self, name: str, definition: Definition) -> None:
        """Adds a definition of the plug-in that is being run.

        Args:
            name: its name on the command line.
            definition: the definition.

        Raises:
            UsageError: the name is taken.
            ParameterError: the name or the definition is invalid.
        """
        if not _NAME.fullmatch(name):
            raise ParameterError(
                f"name of a {self.noun} must be lower-case words joined by hyphens, got {quoted(name)}"
            )
        owner = _owner(name) or ("" if _running[-1].module else _installed_owner(name))
        if owner:
            raise UsageError(f"name of a {self.noun} must be new, got {name!r}, {owner}")
        _check(self.noun, name, definition, self.kind, self._calls)
        self._added[name] = definition, _running[-1]

    def plugins(self) -> list[Plugin]:
        """Returns the plug-in of every loaded definition; a plug-in with several definitions is repeated."""
        return [plugin for _, plugin in self._added.values()]

    def remove(self, plugin: Plugin) -> None:
        """Removes all definitions of a plug-in."""
        self._added = {name: entry for name, entry in self._added.items() if entry[1] is not plugin}


def registries() -> Iterable[Registry[Any]]:
    """Returns the registries (of families, routings, ...) whose modules have been imported so far."""
    return _registries.values()


def register(name: str, definition: object) -> None:
    """Registers a definition under a name, for the command line, experiments and Python.

    Args:
        name: lower-case words joined by hyphens.
        definition: a Family, a Routing, a PatternDefinition, a Collective or a Motif.

    Raises:
        UsageError: the name is taken.
        ParameterError: the definition is of the wrong type, or is invalid.

    Examples:
        >>> def reverse(topology, routers, generator):
        ...     return routers[::-1]
        >>> register("reverse", PatternDefinition("routers", "router i to N - 1 - i", "-", reverse))
        >>> polarlab.patterns()["reverse"].level
        'routers'
    """
    for registry in _registries.values():
        if isinstance(definition, registry.kind):
            registry.add(name, definition)
            return
    kinds = ", ".join(sorted(registry.kind.__name__ for registry in _registries.values()))
    raise ParameterError(f"definition of {name} must be one of {kinds}, got {quoted(definition)}")


@contextmanager
def registering(plugin: Plugin, what: str) -> Iterator[None]:
    """Runs the code of a plug-in in the block, and removes its definitions if the code fails.

    Args:
        plugin: the plug-in.
        what: the plug-in as error messages name it at their start, such as `plug-in routes.py`.

    Raises:
        UsageError: the code fails, or registers something invalid.
    """
    _running.append(plugin)
    try:
        yield
    except BaseException as error:
        unregister(plugin)
        if isinstance(error, UsageError):
            raise type(error)(f"{what}: {error}") from None
        if not isinstance(error, Exception | SystemExit):
            raise
        raise _failure(what, error, plugin) from error
    finally:
        _running.pop()


def plugin_failure(error: BaseException | None) -> UsageError | None:
    """Returns the error to report instead of one that the code of a plug-in raised.

    Args:
        error: any exception, with its traceback.

    Returns:
        An error that names the plug-in and the line of its code that ran last; None for errors of
        PolarLab, requests to end, lack of memory, broken pipes, and errors without code of a plug-in in
        their traceback.
    """
    if isinstance(error, PolarLabError | Terminated | MemoryError | BrokenPipeError):
        return None
    if not isinstance(error, Exception | SystemExit):
        return None
    plugins = [plugin for frame, _ in traceback.walk_tb(error.__traceback__) if (plugin := _of_frame(frame))]
    return _failure(f"plug-in {plugins[-1].name}", error, plugins[-1]) if plugins else None


@contextmanager
def naming_plugins() -> Iterator[None]:
    """Replaces an error raised in the block by its `plugin_failure`, if it has one.

    Raises:
        UsageError: the code of a plug-in failed.
    """
    try:
        yield
    except (Exception, SystemExit) as error:
        failure = plugin_failure(error)
        if failure is None:
            raise
        raise failure from error


def returned(function: Callable[..., object], value: Any, kind: type[T], what: str = "") -> T:
    """Returns what a function of a definition returned, if it has the right type.

    Args:
        function: the function.
        value: its result.
        kind: the type that the result must have.
        what: the result in words, with an article; by default the name of the type.

    Raises:
        ParameterError: the result has another type.
    """
    if isinstance(value, kind):
        return value
    raise wrong_result(function, value, what or f"a {kind.__name__}")


def wrong_result(function: Callable[..., object], value: object, what: str) -> ParameterError:
    """Returns an error for a function's wrong result; the message has the function's file and line.

    Args:
        function: the function.
        value: its result.
        what: what it must return, in words.
    """
    while isinstance(function, partial):
        function = function.func
    code = getattr(function, "__code__", None)
    name = getattr(function, "__qualname__", type(function).__name__).rpartition("<locals>.")[2]
    place = f" ({_file_name(code.co_filename)}, line {code.co_firstlineno})" if code else ""
    return ParameterError(f"{name}{place} must return {what}, got {quoted(value)}")


def unregister(plugin: Plugin) -> None:
    """Removes all definitions of a plug-in."""
    for registry in _registries.values():
        registry.remove(plugin)


def plugin_named(name: str) -> Plugin | None:
    """Returns the plug-in that registered a name; None for PolarLab's own and unknown names."""
    return next(filter(None, (registry.plugin_of(name) for registry in _registries.values())), None)


def check_plugins(kept: Mapping[str, str]) -> None:
    """Checks that names still refer to the plug-ins that they referred to when a result was stored.

    Args:
        kept: name of each definition -> its plug-in (`str(Plugin)`) as stored with the result.

    Raises:
        UsageError: a plug-in is missing or has changed.
    """
    for name, text in kept.items():
        plugin = plugin_named(name)
        if plugin is None:
            file = text.partition(" ")[0].endswith(".py")
            remedy = "give --plugin FILE.py, or call polarlab.register" if file else "install it"
            remedy = "call polarlab.register" if text == str(PYTHON) else remedy
            raise UsageError(f"{name} belongs to plug-in {shortened(text)}, which is missing; {remedy}")
        if str(plugin) != text:
            raise UsageError(f"{name} must come from plug-in {shortened(text)}, got {shortened(str(plugin))}")


def shortened(text: str) -> str:
    """Returns a plug-in as `str(Plugin)`, but with its SHA-256 cut to twelve digits, for messages.

    Args:
        text: `str(Plugin)`, as stored in results.
    """
    before, mark, digest = text.partition("sha256:")
    return before + mark + digest[:_SHOWN_DIGITS]


def _owner(name: str) -> str | None:
    """Describes who has registered a name, such as `a routing of PolarLab`, for messages.

    Returns None if the name is free, or belongs to the plug-in that is registering now.
    """
    for registry in _registries.values():
        if spelled(name, registry.own) in registry.own:
            return f"a {registry.noun} of PolarLab"
        known = spelled(name, registry._added)
        if known in registry._added and registry._added[known][1] is not _running[-1]:
            return f"a {registry.noun} of the plug-in {registry._added[known][1].name}"
    return None


def _installed_owner(name: str) -> str:
    """Describes which installed package defines a name, for messages; empty if none does."""
    for group, registry in _registries.items():
        if entry := _installed(group).get(name):
            return f"a {registry.noun} of the package {_package_of(entry).name}"
    return ""


@cache
def _installed(group: str) -> Mapping[str, EntryPoint]:
    """Returns name -> entry point of the installed plug-ins of a kind.

    Raises:
        UsageError: a package uses a name of PolarLab's, or of another package.
    """
    from importlib.metadata import entry_points  # slow to import

    found: dict[str, EntryPoint] = {}
    registry = _registries[group]
    for entry in entry_points(group=f"polarlab.{group}"):
        if entry.name in registry.own or entry.name in found:
            other = _package_of(found[entry.name]).name if entry.name in found else "PolarLab"
            raise UsageError(
                f"the package {_package_of(entry).name} must use another name for its {registry.noun}, got "
                f"{entry.name!r}, a {registry.noun} of {other}; remove one of the packages, or rename it"
            )
        found[entry.name] = entry
    return found


def _package_of(entry: EntryPoint) -> Plugin:
    package = entry.dist
    return Plugin(
        package.name if package else entry.module, package.version if package else "", module=entry.module
    )


def _check(
    noun: str,
    name: str,
    definition: Any,
    kind: type,
    calls: Callable[[str, Any], Iterable[Call]],
) -> None:
    """Raises ParameterError if a definition has the wrong type, or its functions have the wrong signature."""
    if not isinstance(definition, kind):
        raise ParameterError(f"{noun} {name} must be a {kind.__name__}, got {quoted(definition)}")
    for call in calls(name, definition):
        for parameter in call.parameters:
            _check_parameter(parameter, name)
        names = [parameter.key for parameter in call.parameters]
        if len({*names}) < len(names):
            raise ParameterError(f"parameters of {name} must have distinct names, got {', '.join(names)}")
        try:
            inspect.signature(call.function).bind(*call.places, **dict.fromkeys(names))
        except TypeError as error:
            keys = f", *, {', '.join(names)}" if names else ""
            shown = getattr(call.function, "__name__", repr(call.function))
            reason = str(error).replace(" keyword-only", "")  # which only newer versions of Python add
            raise ParameterError(
                f"{shown} of {name} must accept ({', '.join(call.places)}{keys}): {reason}"
            ) from None


def _check_parameter(parameter: object, name: str) -> None:
    if not isinstance(parameter, Parameter):
        raise ParameterError(f"parameters of {name} must be of type Parameter, got {quoted(parameter)}")
    if not _NAME.fullmatch(parameter.name):
        raise ParameterError(
            f"names of parameters must be lower-case words joined by hyphens, got "
            f"{quoted(parameter.name)} of {name}"
        )
    if parameter.type not in (bool, int, float, str):
        raise ParameterError(
            f"type of the parameter {parameter.name} of {name} must be bool, int, float or str, got "
            f"{quoted(parameter.type)}"
        )
    if parameter.default is not None:
        try:
            parameter.check(parameter.default)
        except ParameterError as error:
            raise ParameterError(f"default of {name}'s parameter {error}") from None


def _failure(what: str, error: BaseException, plugin: Plugin) -> UsageError:
    """Returns an error for a plug-in that failed; the message says which line of its code ran last."""
    found = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if _of_frame(frame) is plugin
    ]
    text = str(error)
    if isinstance(error, SyntaxError) and not found:
        found, text = [(error.filename or "", error.lineno or 0)], error.msg
    place = f" in line {found[-1][1]}" if found else ""
    if found and plugin.module:
        place = f" in {_file_name(found[-1][0])}, line {found[-1][1]}"
    reason = ": ".join(filter(None, (type(error).__name__, " ".join(text.split()))))
    return UsageError(f"{what} fails{place}: {reason}")


def _file_name(path: str) -> str:
    return path.rpartition("/")[2]


def _of_frame(frame: FrameType) -> Plugin | None:
    """Returns the plug-in whose code runs in a frame; None if no plug-in's code does."""
    plugin: Plugin | None = frame.f_globals.get("__plugin__")
    if plugin is not None:
        return plugin
    package = str(frame.f_globals.get("__name__")).partition(".")[0]
    known = [*_running, *(one for registry in _registries.values() for one in registry.plugins())]
    return next((one for one in known if one.module and one.module.partition(".")[0] == package), None)
