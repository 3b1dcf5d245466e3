"""Declaration of an option: a parameter with its place in experiment files and the commands that have it."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from topology.errors import ParameterError
from topology.files.shown import quoted
from topology.parameters import Parameter, Value, value_text

if TYPE_CHECKING:
    from experiments.spec.experiment import Experiment

# Value of an option that was given; a tuple of an option that can be given several times.
Given = Value | tuple[Value, ...]

_MOST_NAMES = 8  # of a help's line


@dataclass(frozen=True, kw_only=True)
class Option(Parameter):
    """Declaration of an option.

    Attributes:
        table: table of experiment files that holds it; empty if experiments do not keep it.
        commands: commands that have it.
        kinds: kinds of a run's traffic that it applies to; empty for all.
        words: words that stand for a value that is found by measuring packets, as `auto`.
        known: (none) -> names for help and completion; a text may be another, too, if `canonical` takes it.
        canonical: text -> the text by which results name it; raises UsageError for a wrong one.
        listed: whether its text is a list with commas; in a file it may be an array.
        keyed: whether its texts are KEY=VALUES; in a file they may be a table.
        varies: whether a sweep can change it on a fabric that stays up, or else does not have it.
        default_in: command -> its default, where that is not `default`.
        derived: (experiment, values so far) -> its default, where that depends on others; None for none.
        setting: its name in the settings of results; empty if that is its key.
        path: text -> the end of it that names a file to read, or an empty text; None if `file` says it all.
        paths: text -> the files to read that it names, where it is a list.
        needs: options of which it needs one, unless it has its default.
        excludes: options that it cannot be with, unless one of the two has its default.
        when: another option, and its value with which alone this one applies; empty where it always does.
        positional: whether it is given by its place on the command line.
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
        """The domain of its values in words, with the words that stand for a value."""
        return " or ".join([super().domain, *self.words])

    @property
    def meaning(self) -> str:
        """The help with the unit: `load of each link, in Mbit/s; default 1` has it before the semicolon."""
        first, semicolon, more = self.help.partition(";")
        return f"{first}, in {self.unit}{semicolon}{more}" if self.unit else self.help

    def file_named(self, value: object) -> str:
        """Returns the end of a value that names a file or folder; empty if the value names none."""
        return self.path(value) if self.path and isinstance(value, str) else super().file_named(value)

    def files_named(self, value: Given | None) -> tuple[str, ...]:
        """Returns the files that a value names, those of all its entries."""
        if self.paths is None:
            return tuple(filter(None, (self.file_named(value),)))
        texts = value if isinstance(value, tuple) else (value,)
        return tuple(path for text in texts if isinstance(text, str) for path in self.paths(text))

    def names(self) -> list[str]:
        """Returns the texts that completion offers."""
        return [*self._names()]

    def _names(self) -> Iterator[str]:
        """Yields the texts that completion offers; a registry's last ones take a search for plug-ins."""
        for listed in filter(None, (self.known, self.choices)):
            yield from listed()
        yield from self.words

    def default_for(self, command: str) -> Value | None:
        """Returns its default in a command; None where it has none, or one that depends on others."""
        return self.default_in.get(command, self.default)

    def help_in(self, command: str) -> str:
        """Returns its help in a command: meaning, unit, names and default."""
        names, default = [*islice(self._names(), _MOST_NAMES + 1)], self.default_for(command)
        unsaid = 0 < len(names) <= _MOST_NAMES and names[0] not in self.help
        listed = f": {', '.join(names)}" if unsaid and not self.words else ""
        text = self.default_text or ("none" if default is None else value_text(default))
        given = "" if self.required or default is False or self.positional else f" (default {text})"
        return f"{self.meaning}{listed}{given}"

    def read(self, text: str) -> Value:
        """Returns the value that a text of the command line names, checked."""
        return self.check(text) if text in self.words or self.type is str else super().read(text)

    def check(self, value: object) -> Value:
        """Returns a value, checked, as results name it."""
        if isinstance(value, str) and value in self.words:
            return value
        checked = super().check(value)
        if isinstance(checked, str) and self.canonical is not None:
            return self.canonical(checked)
        return checked

    def accept(self, value: object) -> Given:
        """Returns a value from a file or from Python, checked.

        Args:
            value: a value of the type; several as a list or a tuple, where there may be several; a path.

        Raises:
            UsageError: it is not of the type, or outside its domain.
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
    """Returns a value, or several, as a list with commas."""
    return ",".join(map(value_text, values if isinstance(values, list | tuple) else (values,)))


def at(place: str) -> Callable[..., Any]:
    """Returns a function that is imported when it is first called, so that declarations load nothing.

    Args:
        place: module and name, as `topology.links:parse_rate_bps`; of something else than a function, the
            function returns it.
    """

    def call(*arguments: Any) -> Any:
        module, _, name = place.partition(":")
        thing = getattr(importlib.import_module(module), name)
        return thing(*arguments) if callable(thing) else thing

    return call
