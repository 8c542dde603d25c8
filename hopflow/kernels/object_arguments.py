"""Machine code that takes the arguments of a kernel from the objects of Python that hold them, and checks their kinds.

A kernel has some hundred arrays: to look at each of them in Python took longer than many a call.
"""

# mypy: disable-error-code="no-untyped-call, no-untyped-def"

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from llvmlite import ir
from numba import types
from numba.np import arrayobj

from hopflow.kernels.object_layouts import (
    ARRAY_DATA,
    ARRAY_DIMENSIONS,
    ARRAY_DTYPE,
    ARRAY_FLAGS,
    ARRAY_SHAPE,
    ARRAY_STRIDES,
    FLAGS,
    OBJECT_TYPE,
    OTHER_FLAGS,
    OTHER_KINDS,
    TUPLE_ITEMS,
    TUPLE_LENGTH,
    VOID_DATA,
    VOID_DTYPE,
)

__all__ = ["PACKED", "add_packed"]

WORD = ir.IntType(64)
PACKED = "packed."
"""Begin of the symbol of a function that takes objects of Python's; Numba's begin of that of a callback is ``cfunc.``."""


class _Arguments:
    """The arguments of a function, of types of Numba's, made of the objects in a tuple of Python's.

    The objects must be of the kinds for which the function was compiled: a block that the caller names is entered where one
    is not. A number is not read from its object but from words (`hopflow.kernels.entries` packs them).
    """

    def __init__(self, context: Any, builder: Any, places: Sequence[Any], refused: Any) -> None:
        self.context, self.builder, self.refused = context, builder, refused
        self.numbers, self.expected = places
        self.numbers_taken = self.expected_taken = 0

    def parts(self, kinds: Sequence[Any], place: Any) -> list[Any]:
        """Return the parts of a tuple of Python's, which must be as long as ``kinds``."""
        self._require(self._word(place, TUPLE_LENGTH), ir.Constant(WORD, len(kinds)))
        return [self._argument(kind, place, TUPLE_ITEMS + n) for n, kind in enumerate(kinds)]

    def _argument(self, kind: Any, owner: Any, index: int) -> Any:
        """Return the argument whose object a word of the tuple is."""
        form = self.context.get_value_type(kind)
        if isinstance(kind, types.Float | types.Integer | types.Boolean):
            word = self._word(self.numbers, self.numbers_taken)
            self.numbers_taken += 1
            if isinstance(kind, types.Float):
                return self.builder.bitcast(word, form)
            return self.builder.trunc(word, form) if form.width < WORD.width else word
        place = self._word(owner, index)
        self._require_expected(self._word(place, OBJECT_TYPE))
        if isinstance(kind, types.BaseTuple):
            inner: Any = kind
            return self.context.make_tuple(self.builder, kind, self.parts(list(inner), place))
        if isinstance(kind, types.Record):
            self._require_expected(self._word(place, VOID_DTYPE))
            return self.builder.inttoptr(self._word(place, VOID_DATA), form)
        return self._array(kind, place)

    def _require(self, found: Any, wanted: Any) -> None:
        """Go on only where two numbers are equal."""
        following = self.builder.append_basic_block()
        self.builder.cbranch(
            self.builder.icmp_unsigned("==", found, wanted), following, self.refused
        )
        self.builder.position_at_end(following)

    def _require_expected(self, found: Any) -> None:
        """Go on only where a word is the next one of those expected."""
        self._require(found, self._word(self.expected, self.expected_taken))
        self.expected_taken += 1

    def _word(self, place: Any, index: int) -> Any:
        """Return a word of memory."""
        if not isinstance(place.type, ir.PointerType):
            place = self.builder.inttoptr(place, WORD.as_pointer())
        return self.builder.load(self.builder.gep(place, [ir.Constant(WORD, index)]))

    def _array(self, kind: Any, place: Any) -> Any:
        """Return an array whose object of NumPy's is at a place; nobody counts references to it."""
        whole = ir.IntType(32)
        self._require_expected(self._word(place, ARRAY_DTYPE))
        dimensions = self.builder.trunc(self._word(place, ARRAY_DIMENSIONS), whole)
        self._require(dimensions, ir.Constant(whole, kind.ndim))
        mask = FLAGS if kind.layout == "C" else OTHER_FLAGS
        flags = self._word(place, ARRAY_FLAGS)
        self._require_expected(self.builder.and_(flags, ir.Constant(WORD, mask)))
        found = arrayobj.make_array(kind)(self.context, self.builder)
        shape, strides = (
            [self._word(self._word(place, at), n) for n in range(kind.ndim)]
            for at in (ARRAY_SHAPE, ARRAY_STRIDES)
        )
        item = self.context.get_data_type(kind.dtype)
        arrayobj.populate_array(
            found,
            data=self.builder.inttoptr(self._word(place, ARRAY_DATA), item.as_pointer()),
            shape=shape,
            strides=strides,
            itemsize=ir.Constant(WORD, arrayobj.get_itemsize(self.context, kind)),
            meminfo=None,
        )
        return found._getvalue()


def add_packed(context: Any, library: Any, fndesc: Any) -> str:
    """Add to a library a function that calls the one described with objects of Python's; return its symbol.

    It takes the address of the tuple of arguments, and the places of the words of numbers, of what the kinds of the other
    arguments must be, and for what is returned. Its own result is not 0 after an exception, and `OTHER_KINDS` where an
    argument is of another kind: nothing has been done then.
    """
    module = context.create_module("packed")
    kind = context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes)
    called = ir.Function(module, kind, fndesc.llvm_func_name)
    status_type = ir.IntType(32)
    packed = ir.Function(
        module,
        ir.FunctionType(status_type, [WORD.as_pointer()] * 4),
        f"{PACKED}{fndesc.llvm_func_name}",
    )
    tuple_, numbers, expected, returned = packed.args
    builder = ir.IRBuilder(packed.append_basic_block())
    refused = builder.append_basic_block()
    with builder.goto_block(refused):
        builder.ret(ir.Constant(status_type, OTHER_KINDS))
    arguments = _Arguments(context, builder, (numbers, expected), refused)
    given = arguments.parts(fndesc.argtypes, tuple_)
    status, result = context.call_conv.call_function(
        builder, called, fndesc.restype, fndesc.argtypes, given
    )
    if fndesc.restype != types.none:
        data = context.get_data_packer([fndesc.restype]).as_data(builder, [result])
        builder.store(
            builder.extract_value(data, 0),
            builder.bitcast(returned, data.type.elements[0].as_pointer()),
        )
    builder.ret(status.code)
    library.add_ir_module(module)
    return str(packed.name)
