"""Shapes: the sizes of the dimensions of a Cartesian product, written as `4x4x4`."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import partial

from topology.base import MAX_ROUTERS
from topology.errors import ParameterError
from topology.files.escaping import quoted
from topology.parameters import Parameter

_SHAPE = re.compile(r"[1-9]\d{0,5}(x[1-9]\d{0,5})*")
SHAPE_DOMAIN = f"sizes of 2 or more separated by x, such as 4x4, with at most {MAX_ROUTERS} routers"


def read_shape(text: str, name: str = "shape") -> tuple[int, ...]:
    """Returns the sizes that a text specifies.

    Args:
        text: whole numbers of at least 2, separated by x, such as `4x4x4`.
        name: the name of the parameter, for messages.

    Returns:
        The size of each dimension.

    Raises:
        ParameterError: the text is malformed, a size is below 2, or the shape has more than 16384
            routers.
    """
    if not isinstance(text, str) or not _SHAPE.fullmatch(text):
        raise ParameterError(f"{name} must be {SHAPE_DOMAIN}, got {quoted(text)}")
    shape = tuple(int(size) for size in text.split("x"))
    if min(shape) < 2:
        larger = shape_text(tuple(max(size, 2) for size in shape))
        raise ParameterError(f"{name} must be {SHAPE_DOMAIN}, got {quoted(text)}; nearest: {larger}")
    if (routers := math.prod(shape)) > MAX_ROUTERS:
        raise ParameterError(
            f"{name} must have at most {MAX_ROUTERS} routers, got {quoted(text)} with {routers}; "
            f"nearest: {shape_text(_smaller(shape))}"
        )
    return shape


def _smaller(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns a shape of at most MAX_ROUTERS routers: the given one, with all sizes limited to one maximum.

    The maximum is the largest possible; if even 2 is too large, the shape has fewer dimensions, of size 2.
    """
    for most in range(MAX_ROUTERS, 1, -1):
        fitting = tuple(min(size, most) for size in shape)
        if math.prod(fitting) <= MAX_ROUTERS:
            return fitting
    return (2,) * int(math.log2(MAX_ROUTERS))


def shape_text(shape: tuple[int, ...]) -> str:
    """Returns the text of a shape, such as `4x4x4`.

    Args:
        shape: the size of each dimension.
    """
    return "x".join(map(str, shape))


def nearly_cubic(dimensions: int) -> Iterator[tuple[int, ...]]:
    """Yields the shapes whose sizes differ by at most one, ascending.

    Args:
        dimensions: the number of dimensions, at least 1.

    Yields:
        Shapes of at most 16384 routers, the larger sizes first.
    """
    for size in range(2, MAX_ROUTERS):
        for larger in range(dimensions):
            shape = (size + 1,) * larger + (size,) * (dimensions - larger)
            if math.prod(shape) > MAX_ROUTERS:
                return
            yield shape


def shape_parameter(name: str, help: str, required: bool = True, default_text: str = "") -> Parameter:
    """Returns the declaration of a parameter whose value is a shape.

    Args:
        name: the name of the parameter.
        help: noun phrase for its meaning.
        required: whether it must be given.
        default_text: its default in words.
    """
    return Parameter(
        name=name,
        type=str,
        help=help,
        required=required,
        parse=partial(read_shape, name=name),
        domain_text=SHAPE_DOMAIN,
        metavar="SHAPE",
        default_text=default_text,
    )
