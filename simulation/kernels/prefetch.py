"""Prefetching of array rows: a hint to the processor that they are needed soon; results do not change.

The arrays of a large network are larger than the processor's caches. A kernel that waits for one row after
the other spends most of its time waiting. With prefetches, the processor loads many rows in parallel.
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
    """Returns the signature of `prefetch` and the function that generates its machine code, for Numba."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        array_value = context.make_array(signature.args[0])(context, builder, arguments[0])
        index = context.cast(builder, arguments[1], signature.args[1], types.intp)
        indices = [index] + [context.get_constant(types.intp, 0)] * (array.ndim - 1)
        place = _tools.get_item_pointer(context, builder, array, array_value, indices, wraparound=False)
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        hint = _tools.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0i8")
        builder.call(hint, [builder.bitcast(place, byte), number(_READ), number(_KEEP), number(_DATA)])
        return context.get_dummy_value()

    return types.none(array, row), generate


def _no_prefetch(array: Any, row: int) -> None:
    """Replaces `prefetch` if kernels are not compiled."""


# prefetch(array, row) hints that a row of an array will be needed soon.
prefetch: Any = _no_prefetch if vars(numba.config)["DISABLE_JIT"] else intrinsic(_prefetch)
