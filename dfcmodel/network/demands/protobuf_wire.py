"""Decoder of Protocol Buffers: length-delimited messages and their fields.

The encoding is documented by Google (Protocol Buffers, "Encoding"): a field begins with a varint, its number times
eight plus its wire type. The schema defines the meaning of fields; it is not needed to locate the next field.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["Field", "fields", "from_twos_complement", "messages", "varints", "zigzag"]

VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
"""Wire types; groups (3 and 4) are not used by version 3 of the language."""
LENGTHS = {FIXED64: 8, FIXED32: 4}


class Field(NamedTuple):
    """A field of a message: its number, its wire type, and its integer or bytes."""

    number: int
    wire: int
    value: int | bytes

    def integer(self) -> int:
        """Return the value of a varint; ValueError for another wire type."""
        if not isinstance(self.value, int):
            raise ValueError(f"field {self.number}: wire type {self.wire}, must be a varint")  # noqa: TRY004
        return self.value

    def content(self) -> bytes:
        """Return the bytes of the value; ValueError for a varint."""
        if isinstance(self.value, int):
            raise ValueError(f"field {self.number}: a varint, must have a length")  # noqa: TRY004
        return self.value

    def text(self) -> str:
        """Return the value as a string; ValueError unless it is UTF-8."""
        return self.content().decode("utf-8")

    def number_of(self, form: str) -> float:
        """Return the value of a fixed-width field, decoded by a format of the module ``struct``."""
        if len(self.content()) != struct.calcsize(form):
            width = struct.calcsize(form)
            raise ValueError(f"field {self.number}: {len(self.content())} bytes, must be {width}")
        return float(struct.unpack(form, self.content())[0])


def from_twos_complement(value: int) -> int:
    """Return a varint's value as a signed integer of 64 bits in two's complement."""
    return value - (1 << 64) if value >> 63 else value


def zigzag(value: int) -> int:
    """Return the signed integer of a varint's value in zigzag encoding, with the sign in the lowest bit."""
    return value >> 1 ^ -(value & 1)


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the varint at offset ``at``, and the offset after it."""
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte, at = data[at], at + 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> 64:
                break
            return value, at
    raise ValueError(f"byte {at}: a number that has no end, or more than 64 bits")


def _take_bytes(data: bytes, at: int, length: int) -> bytes:
    """Return ``length`` bytes from offset ``at``; ValueError if the data end before."""
    if at + length > len(data):
        raise ValueError(f"byte {at}: ends after {len(data) - at} of {length} bytes")
    return data[at : at + length]


def messages(data: bytes) -> Iterator[bytes]:
    """Yield the messages of a file in which each has its length in front, a varint; ValueError if one is cut short.

    Raises
    ------
    ValueError
        Where the data end within a message.

    Examples
    --------
    >>> list(messages(bytes([1, 65, 2, 66, 67])))
    [b'A', b'BC']
    """
    at = 0
    while at < len(data):
        length, at = _varint(data, at)
        yield _take_bytes(data, at, length)
        at += length


def fields(message: bytes) -> Iterator[Field]:
    """Yield the fields of a message in order; ValueError for invalid bytes.

    Raises
    ------
    ValueError
        If the message ends within a field, or has groups.

    Examples
    --------
    >>> list(fields(bytes([8, 150, 1, 18, 2, 111, 107])))
    [Field(number=1, wire=0, value=150), Field(number=2, wire=2, value=b'ok')]
    """
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        number, wire = key >> 3, key & 7
        if wire == VARINT:
            value, at = _varint(message, at)
            yield Field(number, wire, value)
            continue
        if wire == DELIMITED:
            length, at = _varint(message, at)
        elif wire in LENGTHS:
            length = LENGTHS[wire]
        else:
            raise ValueError(f"byte {at}: wire type {wire}, must be 0, 1, 2 or 5")
        yield Field(number, wire, _take_bytes(message, at, length))
        at += length


def varints(field: Field) -> Iterator[int]:
    """Yield the integers of a repeated field, packed or single."""
    if field.wire == VARINT:
        yield field.integer()
        return
    data, at = field.content(), 0
    while at < len(data):
        value, at = _varint(data, at)
        yield value
