"""Prefetching of rows: a hint to the processor that they are needed soon, which changes no result.

The arrays of a large network are larger than the processor's caches. A kernel that waits for each row in
turn spends most of its time on that; told of many rows at once, the processor gets them side by side.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_READ, _KEEP, _DATA = 0, 3, 1  # arguments of llvm.prefetch
_tools: Any = cgutils


def _prefetch(_: Any, array: Any, row: Any) -> Any:
    """Returns the type and the code of `prefetch`."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        made = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        indices = [index] + [context.get_constant(types.intp, 0)] * (array.ndim - 1)
        place = _tools.get_item_pointer(context, builder, array, made, indices, wraparound=False)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = _tools.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(hint, [builder.bitcast(place, byte), number(_READ), number(_KEEP), number(_DATA)])
        return context.get_dummy_value()

    return types.none(array, row), generate


def _nothing(array: Any, row: int) -> None:
    """Does nothing, where kernels are not compiled."""


# prefetch(array, row) is a hint that a row of an array will be needed.
prefetch: Any = _nothing if vars(numba.config)["DISABLE_JIT"] else intrinsic(_prefetch)
