"""Layouts in memory of the objects of Python and NumPy that machine code reads."""

from __future__ import annotations

__all__ = [
    "ARRAY_DATA", "ARRAY_DIMENSIONS", "ARRAY_DTYPE", "ARRAY_FLAGS", "ARRAY_SHAPE", "ARRAY_STRIDES", "FLAGS", "IN_ORDER_OF_C",
    "OBJECT_TYPE", "OTHER_FLAGS", "OTHER_KINDS", "TUPLE_ITEMS", "TUPLE_LENGTH", "VOID_DATA", "VOID_DTYPE",
]  # fmt: skip

_HEAD = object.__basicsize__ // 8
OBJECT_TYPE = _HEAD - 1
"""Word of each object: the address of its type."""
TUPLE_LENGTH, TUPLE_ITEMS = _HEAD, tuple.__basicsize__ // 8
"""Words of `PyTupleObject`: its length, and the first of the addresses of its items."""
ARRAY_DATA, ARRAY_DIMENSIONS, ARRAY_SHAPE, ARRAY_STRIDES = range(_HEAD, _HEAD + 4)
ARRAY_DTYPE, ARRAY_FLAGS = _HEAD + 5, _HEAD + 6
"""Words of `PyArrayObject` (NumPy's ndarraytypes.h): the address of the data, their dimensions, the addresses of lengths, of
strides and of the type of the items, and flags."""
VOID_DATA, VOID_DTYPE = _HEAD + 1, _HEAD + 2
"""Words of `PyVoidScalarObject` (arrayscalars.h): the addresses of a record and of its type; an object with a size comes first."""
IN_ORDER_OF_C, IN_ORDER_OF_FORTRAN, ALIGNED, WRITEABLE = 0x1, 0x2, 0x100, 0x400
"""Flags of an array, as NumPy numbers them."""
FLAGS = IN_ORDER_OF_C | ALIGNED | WRITEABLE
OTHER_FLAGS = FLAGS | IN_ORDER_OF_FORTRAN
"""Those on which the kind of an array in the order of C depends, and that of another one."""
OTHER_KINDS = 0x4F544845
"""What machine code returns for arguments of other kinds than those for which it was compiled; none of Numba's codes."""
