"""Source of an experiment: its file, and the lines of the file's keys, which errors name."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from topology.errors import UsageError
from topology.files.foreign import Foreign

_WORD = r"(?:[\w-]+|\"[^\"]*\"|'[^']*')"
_PATH = rf"{_WORD}(?:\s*\.\s*{_WORD})*"
_TABLE = re.compile(rf"\s*\[\s*({_PATH})\s*\]\s*(?:#.*)?")
_KEY = re.compile(rf"\s*({_PATH})\s*=")
# Nouns of errors -> options of other names.
_NOUNS = {"capture": "pcap", "frame": "frame-bytes", "program": "exec", "rate": "link-rate"}
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")


@dataclass(frozen=True)
class Source:
    """The file of an experiment.

    Attributes:
        name: its name, as errors have it.
        lines: option -> number of the line that gives it; without those that a command line gives instead.
        keys: option -> its key, where the two have different names.
        foreign: the file as another user's; None if it is not.
        named: whether errors name the file.
    """

    name: str
    lines: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    foreign: Foreign | None = None
    named: bool = True

    def without(self, names: Collection[str]) -> Source:
        """Returns the source of an experiment in which other values stand for some options."""
        lines = {name: line for name, line in self.lines.items() if name not in names}
        return replace(self, lines=lines, foreign=self.foreign and self.foreign.without(names))

    def giving(self, names: Collection[str]) -> Source:
        """Returns the source of an experiment in which some options have values that stem from the file."""
        foreign = self.foreign
        return replace(self, foreign=foreign and foreign.of(foreign.options.union(names)))

    def located(
        self,
        error: UsageError,
        given: Collection[str] = (),
        files: Mapping[str, Collection[str]] = MappingProxyType({}),
        *,
        whole: bool = True,
    ) -> UsageError:
        """Returns an error that names the file, and the line and key that it is about.

        Args:
            error: the error, whose text may name options, as `--load`, or as `ranks` before its "must".
            given: options that the experiment has; an error that is about one of another source stays.
            files: options that name files to read -> these files, by which an error may be about them.
            whole: whether an error that is about no option is one of the file.
        """
        text = str(error)
        if not self.named or text.startswith(f"{self.name}: "):
            return error
        subject = re.findall(r"(?<![\w-])[a-z][a-z-]*", text.partition(" must ")[0])
        named = [*(_NOUNS.get(word, word) for word in subject), *_OPTION.findall(text)]
        named += [name for name, paths in files.items() if any(_names_file(text, path) for path in paths)]
        option = next((name for name in named if name in self.lines), None)
        if option is None:
            elsewhere = any(name in given for name in named)
            return error if elsewhere or not whole else type(error)(f"{self.name}: {text}")
        if "polarlab " not in text:
            text = _OPTION.sub(lambda found: found[1 if found[1] in self.lines else 0], text)
        key = self.keys.get(option, option)
        text = text.removeprefix(f"{option} ")
        return type(error)(f"{self.name}: line {self.lines[option]}, {key}: {text}")


def _names_file(text: str, path: str) -> bool:
    """Returns whether a text has a path in it, as a word of its own."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", text) is not None


def key_lines(text: str) -> dict[tuple[str, str], int]:
    """Returns (table, key) -> number of the line that gives it, and (table, "") that of the table.

    Args:
        text: a file in TOML. Lines of texts of several lines count only where nothing before gives the key.
    """
    lines: dict[tuple[str, str], int] = {}
    table: list[str] = []
    for number, line in enumerate(text.split("\n"), start=1):
        heading, key = _TABLE.fullmatch(line.rstrip("\r")), _KEY.match(line)
        if heading:
            table = _words(heading[1])
        if heading or key:
            path = [*table, *(_words(key[1]) if key and not heading else ()), ""]
            lines.setdefault((path[0], ""), number)
            lines.setdefault((path[0], path[1]), number)
    return lines


def _words(path: str) -> list[str]:
    return [word.strip("\"'") for word in re.findall(_WORD, path)]
