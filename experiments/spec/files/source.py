"""Source of an experiment: its file and the line numbers of keys, for error messages."""

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
# Subject of an error message -> the option that it is about, if the names differ.
_NOUNS = {"capture": "pcap", "frame": "frame-bytes", "program": "exec", "rate": "link-rate"}
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*[a-z])")


@dataclass(frozen=True)
class Source:
    """The file of an experiment.

    Attributes:
        name: name of the file in errors.
        lines: option -> line number; without options that the command line replaces.
        keys: option -> its key, if their names differ.
        foreign: ownership of the file, if it belongs to another user; otherwise None.
        named: whether errors name the file.
    """

    name: str
    lines: Mapping[str, int] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    foreign: Foreign | None = None
    named: bool = True

    def without(self, names: Collection[str]) -> Source:
        """Returns a copy for an experiment whose command line has replaced some of the file's values.

        Args:
            names: options whose values no longer come from the file.
        """
        lines = {name: line for name, line in self.lines.items() if name not in names}
        return replace(self, lines=lines, foreign=self.foreign and self.foreign.without(names))

    def giving(self, names: Collection[str]) -> Source:
        """Returns a copy for an experiment in which further options have values from the file.

        Args:
            names: these options. If another user owns the file, they count as given by that user.
        """
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
        """Returns the error with the file, and the line and key that it refers to.

        Args:
            error: the error; its text may name options as `--load`, or as `ranks` before " must ".
            given: all options of the experiment; errors about one that the file does not set stay unchanged.
            files: option -> input files; an error that names such a file refers to the option.
            whole: whether an error that refers to no option concerns the whole file.
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
    """Returns whether a text contains a path as a whole word."""
    return re.search(rf"(?<![\w./-]){re.escape(path)}(?![\w/-])", text) is not None


def key_lines(text: str) -> dict[tuple[str, str], int]:
    """Returns (table, key) -> line number, and (table, "") -> line number of the table's heading.

    Args:
        text: a TOML file. Multi-line strings are not recognised, but the first match of a key wins.
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
