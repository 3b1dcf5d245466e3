"""Registries of definitions by name: PolarLab's own, and those of plug-ins.

A plug-in is an installed package with entry points, a file that was given to be run, or a definition that was
registered in Python. Installed packages are searched for names that nothing else has, and where all names are
listed, because the search takes longer than most commands need to start.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from topology.errors import ParameterError, UsageError
from topology.files.shown import quoted
from topology.parameters import Parameter

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Definition = TypeVar("Definition")

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_SHOWN_DIGITS = 12  # of a digest in messages
_registries: dict[str, Registry[Any]] = {}  # by their groups


@dataclass(frozen=True)
class Plugin:
    """The origin of definitions that are not PolarLab's own.

    Attributes:
        name: name of the file or of the installed package.
        version: version of the package; empty for a file.
        content: the file, exactly as it was run; None for a package, and for definitions from Python.
        module: the package's module that has the definition; empty for anything else.
    """

    name: str
    version: str = ""
    content: bytes | None = None
    module: str = ""

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file or of the package's modules; empty for definitions from Python."""
        from topology.files.plugin_files import digest_of, package_digest

        return package_digest(self.module) if self.module else digest_of(self.content)

    def __str__(self) -> str:
        """Returns the name, the version and the digest, as results keep them."""
        digest = f"sha256:{self.digest}" if self.digest else ""
        return " ".join(filter(None, (self.name, self.version, digest)))


PYTHON = Plugin("Python")
_running: list[Plugin] = [PYTHON]  # the last one is the plug-in that registers


class Call(NamedTuple):
    """A call that PolarLab makes of a definition's function.

    Attributes:
        function: the function.
        places: names of the arguments that it gets by position.
        parameters: the declared parameters that it gets by their keys.
    """

    function: Callable[..., object]
    places: Sequence[str]
    parameters: Sequence[Parameter] = ()


class Registry(Mapping[str, Definition], Generic[Definition]):
    """Definitions of one kind by their names on the command line.

    A lookup, `in` and iteration include installed plug-ins; iteration yields their names last, and imports
    none of them.

    Attributes:
        group: the kind in the plural, as entry points have it behind `polarlab.`.
        noun: the kind in messages.
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
        """Makes the registry known to plug-ins.

        Args:
            group: see the attributes.
            noun: see the attributes.
            kind: see the attributes.
            own: see the attributes.
            calls: (name, definition) -> the calls that its functions must admit; raises ParameterError if the
                definition is wrong in another way.
        """
        self.group, self.noun, self.kind, self.own = group, noun, kind, own
        self._calls = calls
        self._added: dict[str, tuple[Definition, Plugin]] = {}
        _registries[group] = self

    def loaded(self) -> dict[str, Definition]:
        """Returns PolarLab's own definitions and those of plug-ins that are loaded; nothing is searched."""
        return {**self.own, **{name: definition for name, (definition, _) in self._added.items()}}

    def plugin_of(self, name: str) -> Plugin | None:
        """Returns the plug-in that a name is of, loading an installed one; None for all other names."""
        return None if name in self.own or name not in self else self._entry(name)[1]

    def __contains__(self, name: object) -> bool:
        """Returns whether there is a definition of that name, without importing it."""
        if name in self.own or name in self._added:
            return True
        if not isinstance(name, str) or not _NAME.fullmatch(name) or _owner(name) is not None:
            return False
        return name in _installed(self.group)

    def __getitem__(self, name: str) -> Definition:
        """Returns a definition.

        Args:
            name: its name.

        Raises:
            KeyError: there is none of that name.
            UsageError: the plug-in that has it cannot be imported, or its definition is wrong.
        """
        if name in self.own:
            return self.own[name]
        if name not in self:
            raise KeyError(name)
        return self._entry(name)[0]

    def __iter__(self) -> Iterator[str]:
        """Yields all names: PolarLab's own, those of loaded plug-ins, those of installed ones."""
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
        """Adds a definition of the plug-in that runs.

        Args:
            name: its name on the command line.
            definition: the definition.

        Raises:
            UsageError: something else has the name.
            ParameterError: the name is no name, or the definition is wrong.
        """
        if not _NAME.fullmatch(name):
            raise ParameterError(
                f"name of a {self.noun} must be lower-case words with hyphens, got {quoted(name)}"
            )
        owner = _owner(name) or ("" if _running[-1].module else _installed_owner(name))
        if owner:
            raise UsageError(f"name of a {self.noun} must be new, got {name!r}, {owner}")
        _check(self.noun, name, definition, self.kind, self._calls)
        self._added[name] = definition, _running[-1]

    def plugins(self) -> list[Plugin]:
        """Returns the plug-ins of the definitions that are loaded, each as often as it has one."""
        return [plugin for _, plugin in self._added.values()]

    def remove(self, plugin: Plugin) -> None:
        """Removes all definitions of a plug-in."""
        self._added = {name: entry for name, entry in self._added.items() if entry[1] is not plugin}


def registries() -> Iterable[Registry[Any]]:
    """Returns the registries of all modules that are imported."""
    return _registries.values()


def register(name: str, definition: object) -> None:
    """Gives a definition a name on the command line, in experiments and in Python.

    Args:
        name: lower-case words with hyphens between them.
        definition: a Family, a Routing, a PatternDefinition, a Collective or a Motif.

    Raises:
        UsageError: something else has the name.
        ParameterError: the definition is of another type, or wrong.
    """
    for registry in _registries.values():
        if isinstance(definition, registry.kind):
            registry.add(name, definition)
            return
    kinds = ", ".join(sorted(registry.kind.__name__ for registry in _registries.values()))
    raise ParameterError(f"definition of {name} must be one of {kinds}, got {quoted(definition)}")


@contextmanager
def registering(plugin: Plugin, what: str) -> Iterator[None]:
    """Runs the code of a plug-in, whose definitions are removed again if it fails.

    Args:
        plugin: the plug-in.
        what: the plug-in in messages.

    Raises:
        UsageError: the code fails, or registers something wrong.
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
        text = " ".join(str(error.msg if isinstance(error, SyntaxError) else error).split())
        raise UsageError(f"{what} fails{_line(error, plugin)}: {type(error).__name__}: {text}") from error
    finally:
        _running.pop()


def unregister(plugin: Plugin) -> None:
    """Removes all definitions of a plug-in."""
    for registry in _registries.values():
        registry.remove(plugin)


def plugin_named(name: str) -> Plugin | None:
    """Returns the plug-in that has registered a name; None for a name of PolarLab's, or an unknown one."""
    return next(filter(None, (registry.plugin_of(name) for registry in _registries.values())), None)


def check_plugins(kept: Mapping[str, str]) -> None:
    """Checks that names mean what they meant when something was kept.

    Args:
        kept: name -> its plug-in then, as text.

    Raises:
        UsageError: a plug-in is missing, or differs from the one of then.
    """
    for name, text in kept.items():
        plugin = plugin_named(name)
        if plugin is None:
            file = text.partition(" ")[0].endswith(".py")
            remedy = "give --plugin FILE.py, or polarlab.register it" if file else "install it"
            remedy = "polarlab.register it" if text == str(PYTHON) else remedy
            raise UsageError(f"{name} is of the plug-in {shortened(text)}, which is missing; {remedy}")
        if str(plugin) != text:
            raise UsageError(f"{name} must be of the plug-in {shortened(text)}, got {shortened(str(plugin))}")


def shortened(text: str) -> str:
    """Returns the text of a plug-in, for a message, with the first digits of its digest.

    Args:
        text: the plug-in, as results keep it.
    """
    before, mark, digest = text.partition("sha256:")
    return before + mark + digest[:_SHOWN_DIGITS]


def _owner(name: str) -> str | None:
    """Returns what has a name, in words; None if it is free, or the running plug-in's own."""
    for registry in _registries.values():
        if name in registry.own:
            return f"a {registry.noun} of PolarLab"
        if name in registry._added and registry._added[name][1] is not _running[-1]:
            return f"a {registry.noun} of the plug-in {registry._added[name][1].name}"
    return None


def _installed_owner(name: str) -> str:
    """Returns which installed package has a name, in words; empty if none has."""
    for group, registry in _registries.items():
        if entry := _installed(group).get(name):
            return f"a {registry.noun} of the package {_package_of(entry).name}"
    return ""


@cache
def _installed(group: str) -> Mapping[str, EntryPoint]:
    """Returns name -> entry point of the installed plug-ins of a kind, whose registry is loaded.

    Raises:
        UsageError: a package takes a name of PolarLab's, or of another package.
    """
    from importlib.metadata import entry_points  # slow to import

    found: dict[str, EntryPoint] = {}
    registry = _registries[group]
    for entry in entry_points(group=f"polarlab.{group}"):
        if entry.name in registry.own or entry.name in found:
            other = _package_of(found[entry.name]).name if entry.name in found else "PolarLab"
            raise UsageError(
                f"the package {_package_of(entry).name} must give its {registry.noun} a new name, got "
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
    """Raises ParameterError if a definition has another type, or its functions take other arguments."""
    if not isinstance(definition, kind):
        raise ParameterError(f"{noun} {name} must be a {kind.__name__}, got {quoted(definition)}")
    for call in calls(name, definition):
        for parameter in call.parameters:
            _check_parameter(parameter, name)
        names = [parameter.key for parameter in call.parameters]
        if len({*names}) < len(names):
            raise ParameterError(f"parameters of {name} must have different names, got {', '.join(names)}")
        try:
            inspect.signature(call.function).bind(*call.places, **dict.fromkeys(names))
        except TypeError as error:
            keys = f", *, {', '.join(names)}" if names else ""
            shown = getattr(call.function, "__name__", repr(call.function))
            raise ParameterError(
                f"{shown} of {name} must take ({', '.join(call.places)}{keys}), got: {error}"
            ) from None


def _check_parameter(parameter: object, name: str) -> None:
    if not isinstance(parameter, Parameter):
        raise ParameterError(f"parameters of {name} must be Parameters, got {quoted(parameter)}")
    if not _NAME.fullmatch(parameter.name):
        raise ParameterError(
            f"names of parameters must be lower-case words with hyphens, got "
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


def _line(error: BaseException, plugin: Plugin) -> str:
    """Returns the line of a plug-in's file at which its code failed, in words; empty for a package."""
    if isinstance(error, SyntaxError) or plugin.content is None:
        return f" in line {error.lineno}" if isinstance(error, SyntaxError) else ""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_globals.get("__plugin__") is plugin:
            line = trace.tb_lineno
        trace = trace.tb_next
    return f" in line {line}" if line else ""
