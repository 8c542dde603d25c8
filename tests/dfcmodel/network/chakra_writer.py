"""Traces of Chakra as Google's library for Protocol Buffers writes them, for tests."""

from __future__ import annotations

import base64
import struct
from collections.abc import Iterable, Sequence
from typing import Any

COMP, SEND, RECV, COLL = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, BROADCAST, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 5, 6, 7

ALL_TYPES = base64.b64decode(
    "JgoFMS4wLjASHQoGc2NoZW1h6gESMS4wLjItY2hha3JhLjEuMC4w3gIIrAISCWFsbCB0eXBlcxgEMAU4zsLxBUIJCgF2EgFzGgF0UhEKBmRvdWJsZRkAAAAAAAD0P1IS"
    "CgVmbG9hdBIEaGFsZi0AAAC/UhIKBWludDMyOPn//////////wFSEgoFaW50NjRIgICAgICAgICAAVIOCgZ1aW50MzJY/////w9SEwoGdWludDY0aP///////////wFS"
    "DgoGc2ludDMyeP////8PUhQKBnNpbnQ2NIgB/v//////////AVIPCgdmaXhlZDMynQERAAAAUhMKB2ZpeGVkNjSpAQAAAAAAAQAAUhAKCHNmaXhlZDMyvQHu////UhQK"
    "CHNmaXhlZDY0yQEAAAAAAP///1IJCgRib29s2AEBUhMKCWJvb2xfbGlzdOIBBQoDAQABUhAKBnN0cmluZ+oBBWdyw7xuUgwKBWJ5dGVz+gECAP9SEgoKaW50NjRfbGlz"
    "dFIECgIBAjUIrQISBG5leHQYByICrAIqBKwCrgJSDQoJY29tbV90eXBlSABSDwoJY29tbV9zaXplSICAQAUIrgIYAQ=="
)
"""A trace of three nodes with attributes of all types but most lists, written by Google's protobuf 7.36.2 for Python with the schema of
mlcommons/chakra at commit 21585d8."""


def varint(value: int) -> bytes:
    """Return an integer as a varint, a negative one by its two's complement of 64 bits."""
    value %= 1 << 64
    found = bytearray()
    while value > 0x7F:
        found.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*found, value])


def field(number: int, value: Any) -> bytes:
    """Return a field: an integer, bytes or a string, or a fixed width as a form of ``struct`` and its value."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    if isinstance(value, tuple):
        packed = struct.pack(*value)
        return varint(number << 3 | (1 if len(packed) == 8 else 5)) + packed
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def attribute(name: str, value: int | str | Sequence[bool]) -> bytes:
    """Return an attribute with an integer of 64 bits, a string, or a list of truth values."""
    if isinstance(value, str):
        return field(1, name) + field(29, value)
    if isinstance(value, Sequence):
        return field(1, name) + field(28, field(1, bytes(value)))
    return field(1, name) + field(9, value)


def node(number: int, kind: int, after: Iterable[int] = (), duration: int = 0, **attributes: Any) -> bytes:
    """Return a node that waits for others, with its attributes."""
    needs = b"".join(map(varint, after))
    parts = [field(1, number)] if number else []
    parts += [field(2, f"n{number}"), field(3, kind)]
    parts += [field(5, needs)] if needs else []
    parts += [field(7, duration)] if duration else []
    parts += [field(10, attribute(*each)) for each in attributes.items()]
    return b"".join(parts)


def trace(*nodes: bytes, version: str = "0.0.4") -> bytes:
    """Return a file with nodes."""
    return b"".join(varint(len(each)) + each for each in (field(1, version), *nodes))
