"""Declaration of an option: a parameter with its table in experiment files and its commands."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from topology.errors import ParameterError
from topology.files.escaping import quoted
from topology.parameters import Parameter, Value, value_text

if TYPE_CHECKING:
    from experiments.spec.experiment import Experiment

# Value of an option; a tuple if the option can be repeated.
Given = Value | tuple[Value, ...]

_MAX_NAMES = 8  # longer lists of names would bury the help text


@dataclass(frozen=True, kw_only=True)
class Option(Parameter):
    """Declaration of an option.

    Attributes:
        table: table of experiment files that contains it; empty if experiments do not keep it.
        commands: commands that have it.
        kinds: kinds of traffic that it applies to; empty for all.
        words: words that stand for a value found by measuring packets, such as `auto`.
        known: () -> names for help and completion; other values are allowed if `canonical` accepts them.
        canonical: value -> its canonical form as kept in results; raises UsageError if it is invalid.
        listed: whether its value is a comma-separated list; in a file it may be an array.
        keyed: whether its values are KEY=VALUES; in a file they may be a table.
        varies: whether a sweep can vary it without rebuilding the fabric.
        default_in: command -> default that replaces `default` there.
        derived: (experiment, values so far) -> default that depends on other options; None if there is none.
        setting: its name in the settings of results; empty if that is the same as its key.
        path: text -> its last part if that names an input file, else ""; None if `file` decides.
        paths: text -> all input files that a list names.
        needs: options; at least one must be given, unless this option has its default.
        excludes: options that conflict with it, unless one of the two has its default.
        when: (other option, value): this option applies only with that value; empty if it always applies.
        positional: whether it is a positional argument.
        common: whether `--help` shows it; `--help-all` shows all.
    """

    table: str = ""
    commands: Collection[str] = ()
    kinds: Collection[str] = ()
    known: Callable[[], Iterable[str]] | None = None
    canonical: Callable[[str], str] | None = None
    listed: bool = False
    keyed: bool = False
    varies: bool = True
    default_in: Mapping[str, Value] = field(default_factory=dict)
    derived: Callable[[Experiment, Mapping[str, Given]], Given | None] | None = None
    setting: str = ""
    path: Callable[[str], str] | None = None
    paths: Callable[[str], Iterable[str]] | None = None
    needs: Collection[str] = ()
    excludes: Collection[str] = ()
    when: tuple[str, str] | tuple[()] = ()
    positional: bool = False
    common: bool = False

    @property
    def domain(self) -> str:
        """The option's domain in words, including the words that stand for a measured value."""
        return " or ".join([super().domain, *self.words])

    @property
    def meaning(self) -> str:
        """The help text with the unit inserted before its first semicolon.

        An example is `load of each link, in Mbit/s; default 1`.
        """
        first, semicolon, more = self.help.partition(";")
        return f"{first}, in {self.unit}{semicolon}{more}" if self.unit else self.help

    def file_named(self, value: object) -> str:
        """Returns the part of a value that names a file or folder; empty if there is none."""
        return self.path(value) if self.path and isinstance(value, str) else super().file_named(value)

    def files_named(self, value: Given | None) -> tuple[str, ...]:
        """Returns the paths of all files that a value names; a value may be a tuple of several entries."""
        if self.paths is None:
            return tuple(filter(None, (self.file_named(value),)))
        texts = value if isinstance(value, tuple) else (value,)
        return tuple(path for text in texts if isinstance(text, str) for path in self.paths(text))

    def names(self) -> list[str]:
        """Returns the names that completion suggests as values."""
        return [*self._names()]

    def _names(self) -> Iterator[str]:
        """Yields the names that completion suggests as values.

        Names of plug-ins come last, as finding them takes time; a caller that stops early avoids the search.
        """
        for listed in filter(None, (self.known, self.choices)):
            yield from listed()
        yield from self.words

    def default_for(self, command: str) -> Value | None:
        """Returns the option's default in a command; None without one, or if it depends on other options."""
        return self.default_in.get(command, self.default)

    def help_in(self, command: str) -> str:
        """Returns the option's help text in a command: meaning, unit, names and default."""
        names, default = [*islice(self._names(), _MAX_NAMES + 1)], self.default_for(command)
        unsaid = 0 < len(names) <= _MAX_NAMES and names[0] not in self.help
        listed = f": {', '.join(names)}" if unsaid and not self.words else ""
        text = self.default_text or ("none" if default is None else value_text(default))
        given = "" if self.required or default is False or self.positional else f" (default {text})"
        return f"{self.meaning}{listed}{given}"

    def read(self, text: str) -> Value:
        """Parses and checks a value from the command line."""
        return self.check(text) if text in self.words or self.type is str else super().read(text)

    def check(self, value: object) -> Value:
        """Returns a value in canonical form; raises UsageError if it is invalid."""
        if isinstance(value, str) and value in self.words:
            return value
        checked = super().check(value)
        if isinstance(checked, str) and self.canonical is not None:
            return self.canonical(checked)
        return checked

    def accept(self, value: object) -> Given:
        """Checks a value from an experiment file or a Python argument, and returns it in canonical form.

        Args:
            value: a value of the option's type, a path, or a list or tuple if several are allowed.

        Raises:
            UsageError: it is of another type, or outside its domain.
        """
        if isinstance(value, os.PathLike):
            value = os.fspath(value)
        if self.keyed and isinstance(value, Mapping):
            value = [f"{key}={_joined(values)}" for key, values in value.items()]
        several = isinstance(value, list | tuple)
        if self.repeatable:
            entries = value if isinstance(value, list | tuple) else (value,)
            return tuple(map(self.check, entries))
        if self.listed and (several or (isinstance(value, int | float) and not isinstance(value, bool))):
            entries = value if isinstance(value, list | tuple) else (value,)
            value = ",".join(map(value_text, entries))
        if several and not self.listed:
            raise ParameterError(f"{self.name} must be one value, got {quoted(value)}")
        return self.check(value)


def _joined(values: object) -> str:
    """Returns one or several values as a comma-separated list."""
    return ",".join(map(value_text, values if isinstance(values, list | tuple) else (values,)))


def lazy_import(place: str) -> Callable[..., Any]:
    """Returns a function that imports another function only when it is called, and calls it.

    Declarations can thus refer to functions without importing their modules.

    Args:
        place: module and name, such as `topology.links:parse_rate_bps`. If the object of this name cannot be
            called, each call returns the object.
    """

    def call(*arguments: Any) -> Any:
        thing = resolve_name(place)
        return thing(*arguments) if callable(thing) else thing

    return call
