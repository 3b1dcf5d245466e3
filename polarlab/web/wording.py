"""Error messages for invalid request content, in the style of PolarLab's other errors."""

from __future__ import annotations

import re

import msgspec

_PLACE = re.compile(r"(?P<what>.*?)(?: - at `\$(?:\.(?P<field>\w+))?.*`)?", re.DOTALL)
_BOUND = re.compile(r"Expected `(?:int|float)` (?P<sign><=|>=|<|>) (?P<bound>\S+)")
_LENGTH = re.compile(r"Expected `str` of length (?P<sign><=|>=) (?P<bound>\d+)")
_LINE = re.compile(r"Expected `str` matching regex")
_TYPE = re.compile(r"Expected `(?P<type>[^`]+)`, got `(?P<got>[^`]+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>.*)`", re.DOTALL)
_MISSING = re.compile(r"Object missing required field `(?P<field>\w+)`")
_SIGNS = {"<=": "at most", ">=": "at least", "<": "less than", ">": "more than"}
_TYPES = {
    "str": "a text",
    "int": "a whole number",
    "float": "a number",
    "object": "an object",
    "array": "a list",
    "bool": "true or false",
    "null": "null",
}


def wording(error: msgspec.MsgspecError, request: type[msgspec.Struct]) -> str:
    """Returns the message for content that does not match a request's type.

    Args:
        error: the decoder's error.
        request: the expected type.
    """
    match = _PLACE.fullmatch(str(error))
    what, field = (match["what"], match["field"]) if match else (str(error), None)
    subject = field or "the body"
    if found := _UNKNOWN.match(what):
        names = ", ".join(one.encode_name for one in msgspec.structs.fields(request))
        return f"field must be {f'one of {names}' if names else 'absent'}, got {_short(found['field'])}"
    if found := _MISSING.match(what):
        return f"{found['field']} must be given"
    if found := _BOUND.match(what):
        return f"{subject} must be {_SIGNS[found['sign']]} {_number(found['bound'])}"
    if found := _LENGTH.match(what):
        if found["bound"] == "1":
            return f"{subject} must not be empty"
        return f"{subject} must have {_SIGNS[found['sign']]} {found['bound']} characters"
    if _LINE.match(what):
        return f"{subject} must be one line of printable ASCII characters"
    if found := _TYPE.match(what):
        return f"{subject} must be {_types(found['type'])}, got {_types(found['got'])}"
    if isinstance(error, msgspec.ValidationError):
        return f"{subject} must match /openapi.json: {what}"
    return f"the body must be JSON, such as {_example(request)}"


def _types(names: str) -> str:
    return " or ".join(_TYPES.get(name, name) for name in names.split(" | "))


def _number(text: str) -> str:
    return text.removesuffix(".0")


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}...")


def _example(request: type[msgspec.Struct]) -> str:
    """Returns an example body for a request, as JSON."""
    fields = msgspec.structs.fields(request)
    values = {one.encode_name: "..." if one.required else one.default for one in fields}
    return msgspec.json.encode(values).decode()
