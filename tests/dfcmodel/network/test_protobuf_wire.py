"""Protocol Buffers: fields and messages, against what Google's library writes."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from dfcmodel.network.protobuf_wire import Field, fields, messages, signed, varints, zigzag
from tests.dfcmodel.network.chakra_writer import ALL_TYPES, field, varint

RANDOM = np.random.default_rng(1)
NUMBERS = [
    0,
    1,
    127,
    128,
    300,
    2**32,
    2**63 - 1,
    2**64 - 1,
    *map(int, RANDOM.integers(0, 2**62, 50)),
]


@pytest.mark.parametrize("number", NUMBERS)
def test_integers_come_back(number: int) -> None:
    (found,) = fields(field(5, number))
    assert found == Field(5, 0, number)
    assert list(varints(found)) == [number]
    assert list(varints(Field(5, 2, varint(number) + varint(7)))) == [number, 7]


@pytest.mark.parametrize("number", [0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63)])
def test_signs(number: int) -> None:
    """A signed integer is its two's complement; zigzag has 0, -1, 1, -2, ... as 0, 1, 2, 3, ..."""
    assert signed(next(varints(Field(1, 2, varint(number))))) == number
    assert zigzag(2 * number if number >= 0 else -2 * number - 1) == number


def test_messages_of_the_library() -> None:
    found = [[each.number for each in fields(message)] for message in messages(ALL_TYPES)]
    assert found == [[1, 2], [1, 2, 3, 6, 7, 8, *17 * [10]], [1, 2, 3, 4, 5, 10, 10], [1, 3]]
    _, node, _, _ = messages(ALL_TYPES)
    attributes = [list(fields(each.content())) for each in fields(node) if each.number == 10]
    names = [own[0].text() for own in attributes]
    double = attributes[names.index("double")][-1]
    assert double.number_of("<d") == struct.unpack("<d", double.content())[0] == 1.25
    assert attributes[names.index("string")][-1].text() == "grün"


@pytest.mark.parametrize("length", range(1, len(ALL_TYPES)))
def test_an_end_within_a_message_is_an_error(length: int) -> None:
    """Data that are cut off are refused unless they end with a message."""
    ends = np.cumsum([len(varint(len(each)) + each) for each in messages(ALL_TYPES)])
    if length in ends:
        assert len(list(messages(ALL_TYPES[:length]))) == 1 + int(np.searchsorted(ends, length))
        return
    with pytest.raises(ValueError, match="byte"):
        list(messages(ALL_TYPES[:length]))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x80" * 11, "byte 10: a number that has no end, or more than 64 bits"),
        (b"\xff" * 9 + b"\x02", "more than 64 bits"),
        (b"\x0b", "byte 1: wire type 3, must be 0, 1, 2 or 5"),
        (b"\x0a\x05ab", "byte 2: ends after 2 of 5 bytes"),
        (b"\x09abc", "byte 1: ends after 3 of 8 bytes"),
    ],
)
def test_fields_that_are_none(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        list(fields(data))


def test_values_of_another_type_are_named() -> None:
    number, text = Field(3, 0, 8), Field(4, 2, b"ab")
    with pytest.raises(ValueError, match="field 3: a varint, must have a length"):
        number.text()
    with pytest.raises(ValueError, match="field 4: wire type 2, must be a varint"):
        text.integer()
    with pytest.raises(ValueError, match="field 4: 2 bytes, must be 8"):
        text.number_of("<d")
