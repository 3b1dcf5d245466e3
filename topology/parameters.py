"""Declarations of parameters: name, type, unit, domain, default and help of an option, in one place.

Command-line options, keys of experiment files, and parameters of topologies, routings and patterns are all
declared as a `Parameter`. Code that reads, checks, prints or completes them uses the declaration.
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topology.errors import ParameterError, UsageError
from topology.files.escaping import quoted
from topology.units import UNITS, quantity

Value = bool | int | float | str

_NO_MIN, _NO_MAX = -math.inf, math.inf
# Names of types in messages.
_TYPES = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
_FILE = "the name of a file"
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True, kw_only=True, repr=False)
class Parameter:
    """Declaration of a parameter.

    Attributes:
        name: its name, lower-case words joined by hyphens (`link-delay`); the option is `--name`.
        type: type of its values: bool, int, float or str.
        help: noun phrase for its meaning, without unit and default.
        unit: unit of its values; empty if they have none.
        default: the value if the user gives none; None if there is no default, or if it depends on other
            parameters.
        default_text: the default in words, for help; by default the default value itself.
        least, most: inclusive bounds of a number.
        above: exclusive lower bound of a number, instead of `least`.
        choices: function without arguments that returns the allowed texts; None for free text.
        words: words that are accepted instead of a number (`auto`); the type is then str.
        parse: checks the syntax of a text, and raises ParameterError if it is wrong.
        rule: an additional check for a domain that bounds alone do not describe. It is called before the
            bounds are checked, with a value of the right type, and raises ParameterError.
        domain_text: its domain in words, if bounds and choices do not describe it.
        metavar: the placeholder of its value in usage lines; by default its name in capitals.
        required: whether it must be given.
        repeatable: whether it can be given several times; the value is then a tuple.
        file: whether its value is the path of a file or folder, for completion.

    Examples:
        >>> length = Parameter(name="length", type=int, help="number of routers", least=3, most=99, default=8)
        >>> length
        <length: number of routers: 3 to 99 (default 8)>
        >>> length.read("12")
        12
        >>> length.check(2)
        Traceback (most recent call last):
            ...
        topology.errors.ParameterError: length must be 3 to 99, got 2
    """

    name: str
    type: type[bool] | type[int] | type[float] | type[str]
    help: str
    unit: str = ""
    default: Value | None = None
    default_text: str = ""
    least: float = _NO_MIN
    most: float = _NO_MAX
    above: float | None = None
    choices: Callable[[], Iterable[str]] | None = None
    words: Sequence[str] = ()
    parse: Callable[[str], object] | None = None
    rule: Callable[[Any], object] | None = None
    domain_text: str = ""
    metavar: str = ""
    required: bool = False
    repeatable: bool = False
    file: bool = False

    @property
    def key(self) -> str:
        """The name as a Python identifier and as a key in files: with underscores."""
        return self.name.replace("-", "_")

    @property
    def domain(self) -> str:
        """The domain of the parameter's values in words: `1 to 254` or `over 0 and at most 1`."""
        if self.domain_text:
            return self.domain_text
        if self.choices is not None:
            return one_of(self.choices())
        if self.above is not None:
            upper = "" if self.most == _NO_MAX else f" and at most {value_text(self.most)}"
            return f"over {value_text(self.above)}{upper}{self._unit}"
        if self.least != _NO_MIN and self.most != _NO_MAX:
            return f"{value_text(self.least)} to {value_text(self.most)}{self._unit}"
        if self.least != _NO_MIN:
            return f"{value_text(self.least)} or more{self._unit}"
        return _FILE if self.file else _TYPES[self.type] + self._unit

    @property
    def default_in_words(self) -> str:
        """The default as a user writes it, or in words; empty if there is none."""
        return self.default_text or ("" if self.default is None else value_text(self.default))

    @property
    def has_units(self) -> bool:
        """Whether values of the parameter may be texts with a unit, such as `300ms`."""
        return self.type in (int, float) and self.unit in UNITS

    @property
    def described(self) -> str:
        """The help text with domain and default: `share of the packets: 0 to 1 (default 0.5)`."""
        text = self.help if self.domain in (_TYPES[str], _FILE) else f"{self.help}: {self.domain}"
        return f"{text} (default {self.default_in_words})" if self.default_in_words else text

    def file_named(self, value: object) -> str:
        """Returns the file or folder that a value names; empty if it names none."""
        return value if self.file and isinstance(value, str) else ""

    def read(self, text: str) -> Value:
        """Returns the value that a text represents, after checking it.

        Args:
            text: the value, as written on a command line or in `NAME:KEY=VALUE`; a number that
                need not be whole may be a fraction such as `2/3`; a time or a size may have a unit.

        Raises:
            ParameterError: the text is not a value of the type, or the value is outside the domain.
        """
        value = self._number_of(text)
        try:
            if self.type is bool:
                value = {"true": True, "false": False}[text.lower()]
            elif value is text and (self.type is int or self.type is float):
                value = _number(self.type, text)
        except (KeyError, ValueError, ZeroDivisionError, OverflowError):
            raise self._error(text) from None
        return self.check(value)

    def check(self, value: object) -> Value:
        """Checks a value and returns it; a whole number becomes a float where the type is float.

        Args:
            value: the value, from a file or from Python; a time or a size may be a text such as `5s`.

        Raises:
            ParameterError: the value is not of the type, or outside the domain.
        """
        value = self._number_of(value)
        if not isinstance(value, self.type) or (self.type is int and isinstance(value, bool)):
            raise self._type_error(value)
        if self.rule is not None:
            self.rule(value)
        if isinstance(value, int | float) and self.type is not bool:
            if not self.least <= value <= self.most or (self.above is not None and not value > self.above):
                raise self._error(value)
        elif isinstance(value, str) and self.choices is not None:
            value = spelled(value, self.choices())
            if value not in self.choices():
                known = list(self.choices())
                raise ParameterError(
                    f"{self.name} must be {self.domain}, got {quoted(value)}{_choice_hint(value, known)}"
                )
        elif isinstance(value, str) and self.parse is not None and value not in self.words:
            self.parse(value)
        elif self.file and not value:
            raise self._error(value)
        return value

    def __repr__(self) -> str:
        return f"<{self.name}: {self.described}>"

    @property
    def _unit(self) -> str:
        return f" {self.unit}" if self.unit else ""

    def _number_of(self, value: Any) -> Any:
        """Converts a value to the parameter's type if the conversion is exact; else returns it unchanged.

        A text with a unit, such as `300ms`, becomes a number; an int becomes a float if that is the type.
        """
        if self.type is float and isinstance(value, int) and not isinstance(value, bool):
            return _as_float(value)
        number = quantity(self.name, value, self.unit) if self.has_units and isinstance(value, str) else None
        if number is None or (self.type is int and number % 1):
            return value
        return self.type(number)

    def _error(self, value: object) -> ParameterError:
        return ParameterError(f"{self.name} must be {self.domain}, got {quoted(value)}")

    def _type_error(self, value: object) -> ParameterError:
        """Returns the error for a value of another type, such as a number in quotation marks."""
        type_ = _FILE if self.file else _TYPES[self.type]
        domain = self.domain if self.domain.startswith(type_) else f"{type_}, {self.domain}"
        got = f"the text {quoted(value)}" if isinstance(value, str) else quoted(value)
        return ParameterError(f"{self.name} must be {domain}, got {got}")


def one_of(names: Iterable[str]) -> str:
    """Returns names as a domain in words: `one of ring, tree`, or the name itself if there is only one."""
    known = list(names)
    return f"{'one of ' if len(known) > 1 else ''}{', '.join(known)}"


def spelled(word: str, known: Iterable[str]) -> str:
    """Returns the known name that a word spells, ignoring case, `-` and `_`.

    Args:
        word: the word, such as `UGAL_PF`.
        known: the known names.

    Returns:
        The known name; the word itself if no known name, or more than one, differs from it only in case,
        `-` and `_`.
    """
    letters, found = _letters(str(word)), []  # a word from a file may be a number
    for name in known:  # stops at an exact match, because the last names of a registry are slow to list
        if name == word:
            return word
        if _letters(name) == letters:
            found.append(name)
    return found[0] if len(found) == 1 else word


def _letters(name: str) -> str:
    return name.replace("-", "").replace("_", "").casefold()


def hint(word: object, known: Iterable[str]) -> str:
    """Returns the hint that ends a message about a mistyped name: the nearest known name.

    Args:
        word: the mistyped name; a value that is not a string has no near name.
        known: the known names.

    Returns:
        A text like `; did you mean 'tornado'?`, or an empty one if no name is near. The text lists all names
        that differ from the word only in case, `-` and `_`. A name that differs in its numbers only, such as
        h9_1 from h99_1, is a different object rather than a typo.
    """
    if not isinstance(word, str):
        return ""
    others = [name for name in known if _DIGITS.sub("0", name) != _DIGITS.sub("0", word)]
    near = [name for name in others if _letters(name) == _letters(word)]
    near = near or difflib.get_close_matches(word, others, 1)
    near = near or difflib.get_close_matches(word.lower(), others, 1)
    return f"; did you mean {' or '.join(map(repr, near))}?" if near else ""


def _choice_hint(word: str, known: Sequence[str]) -> str:
    """Returns the hint that ends a message about a word that is not among the known names.

    A known name followed by parameters, such as `up-down:root=5`, has a hint of its own.
    """
    name, colon, _ = word.partition(":")
    return f"; {name} takes no parameters here" if colon and name in known else hint(word, known)


def split_parameters(text: str, declared: Sequence[Parameter]) -> tuple[str, dict[str, Value]]:
    """Splits a text like `hotspot:hosts=8,share=0.5` into its name and its parameters.

    Args:
        text: a name, optionally followed by a colon and comma-separated values. A first value without `KEY=`
            belongs to the first declared parameter; if that is a file, the value extends to the end of the
            text, commas included.
        declared: the parameters of the name.

    Returns:
        The name, and key -> value of each given parameter, in the order of declaration.

    Raises:
        UsageError: the name has no such parameter, or a parameter is given twice.
        ParameterError: a value is outside its domain.
    """
    name, colon, rest = text.partition(":")
    by_name = {parameter.name: parameter for parameter in declared}
    given: dict[str, Value] = {}
    words = rest.split(",")
    if declared and declared[0].file:
        words = [f"{declared[0].name}={rest.removeprefix(f'{declared[0].name}=')}"]
    for place, word in enumerate(words if colon else ()):
        key, equals, value = word.partition("=")
        if not equals and place == 0 and declared:
            key, value = declared[0].name, word
        key = spelled(key, by_name)
        if key not in by_name or not (equals or place == 0):
            raise UsageError(f"{name} has {_listed(declared)}, got {quoted(word)}{hint(key, by_name)}")
        if by_name[key].key in given:
            raise UsageError(f"{key} of {name} must be given only once, got {quoted(text)}")
        try:
            given[by_name[key].key] = by_name[key].read(value)
        except ParameterError as error:
            raise ParameterError(f"in {quoted(text)}, {error}") from None
    return name, {p.key: given[p.key] for p in declared if p.key in given}


def join_parameters(name: str, values: Mapping[str, Value], declared: Sequence[Parameter]) -> str:
    """Returns the text that `split_parameters` reads, with the non-default parameters only.

    Args:
        name: the name.
        values: key -> value of its parameters; absent ones have their defaults.
        declared: the parameters of the name.
    """
    words = [
        f"{parameter.name}={value_text(values[parameter.key])}"
        for parameter in declared
        if parameter.key in values and not _is_default(parameter, values[parameter.key])
    ]
    return f"{name}:{','.join(words)}" if words else name


def _as_float(number: int) -> float:
    """Returns a whole number as a float; infinity if it is too large."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def _number(kind: type[int] | type[float], text: str) -> float:
    """Returns the number that a text represents; a float may be written as a fraction, such as `2/3`."""
    if "_" in text:  # 1_0 is ten only in Python
        raise ValueError(text)
    if kind is float and "/" in text:
        above, below = text.split("/")
        return int(above) / int(below)
    return kind(text)


def _is_default(parameter: Parameter, value: Value) -> bool:
    """Returns whether a value, written as text, equals the parameter's default.

    Texts are compared, because the default may have more digits than its text shows.
    """
    return parameter.default is not None and value_text(value) == value_text(parameter.default)


def _listed(declared: Sequence[Parameter]) -> str:
    if not declared:
        return "no parameters"
    return f"the parameter{'s' * (len(declared) > 1)} {', '.join(p.name for p in declared)}"


def value_text(value: Value) -> str:
    """Returns a value as a user writes it: whole numbers without a decimal point, booleans in lower case.

    Args:
        value: the value of a parameter.
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)
