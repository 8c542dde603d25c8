"""Execution traces of MLCommons Chakra: the nodes of a rank, decoded from the contents of its file.

The schema is public (mlcommons/chakra, schema/protobuf/et_def.proto at commit 21585d8). A file has messages that follow
their lengths: metadata, then the nodes. It may be compressed with gzip.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import zlib
from collections.abc import Callable
from enum import IntEnum
from typing import NamedTuple

from dfcmodel.network.demands.flow_files import MAX_FILE_BYTES
from dfcmodel.network.demands.protobuf_wire import Field, fields, from_twos_complement, messages, varints, zigzag

__all__ = ["Attributes", "Collective", "Kind", "Node", "nodes_of_trace"]

VERSIONS = ("0.0.4", "1.0.0")
"""Supported versions of the schema, whose messages are equal in all parts that are read."""
GZIP = b"\x1f\x8b"


class Kind(IntEnum):
    """Types of nodes in a trace, as the format numbers them."""

    INVALID_NODE = 0
    METADATA_NODE = 1
    MEM_LOAD_NODE = 2
    MEM_STORE_NODE = 3
    COMP_NODE = 4
    COMM_SEND_NODE = 5
    COMM_RECV_NODE = 6
    COMM_COLL_NODE = 7
    STORAGE_NODE = 8
    BATCH_NODE = 9
    CHECKPOINT_NODE = 10


class Collective(IntEnum):
    """Types of collective operations, values of ``comm_type``."""

    ALL_REDUCE = 0
    REDUCE = 1
    ALL_GATHER = 2
    GATHER = 3
    SCATTER = 4
    BROADCAST = 5
    ALL_TO_ALL = 6
    REDUCE_SCATTER = 7
    REDUCE_SCATTER_BLOCK = 8
    BARRIER = 9


READ = tuple(kind for kind in Kind if kind not in (2, 3, 8, 9, 10))
Attribute = int | float | str | tuple[bool, ...]


class Node(NamedTuple):
    """A node: its number, name, type, dependencies in its rank, duration in us, and attributes.

    ``lists`` are the names of attributes whose values, lists or bytes, are not read.
    """

    number: int
    name: str
    kind: Kind
    needs: tuple[int, ...]
    duration: int
    attributes: Attributes
    lists: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"node {self.number}, {self.kind.name} {self.name!r}"


class Attributes(dict[str, Attribute]):
    """Attributes of a node, by name."""

    def whole_number(self, name: str, default: int | None = None) -> int:
        """Return the attribute ``name``, a whole number of at least 0, or the default; otherwise ValueError.

        Raises
        ------
        ValueError
            If it is missing without a ``default``, or is not such a number.
        """
        value = self.get(name, default)
        if value is None:
            raise ValueError(f"{name}: must be given")
        if isinstance(value, (str, tuple)) or not 0 <= value < math.inf or value != int(value):
            raise ValueError(f"{name}: {value!r}: must be a whole number of at least 0")
        return int(value)


INTEGERS: dict[int, Callable[[int], int]] = {
    7: from_twos_complement, 9: from_twos_complement, 11: int, 13: int, 15: zigzag, 17: zigzag, 27: int
}  # fmt: skip
FIXED = {3: "<d", 5: "<f", 19: "<I", 21: "<Q", 23: "<i", 25: "<q"}
STRING, FLAGS = 29, 28
"""Fields of an attribute by type; other lists and bytes are not read."""
LAST_OF_ATTRIBUTE = 32
NOT_USED = (6, 8, 9)
"""Unused fields of a node: its start time, inputs and outputs."""


def _attribute(message: bytes) -> tuple[str, Attribute | None]:
    """Return the name and the value of an attribute; the value is None for bytes, or a list except of flags."""
    name = ""
    value: Attribute | None = None
    for field in fields(message):
        number = field.number
        if number == 1:
            name = field.text()
        elif number in INTEGERS:
            value = INTEGERS[number](field.integer())
        elif number in FIXED:
            value = field.number_of(FIXED[number])
        elif number == STRING:
            value = field.text()
        elif number == FLAGS:
            lists = [varints(inner) for inner in fields(field.content()) if inner.number == 1]
            value = tuple(bool(number) for numbers in lists for number in numbers)
        elif number > LAST_OF_ATTRIBUTE:
            raise ValueError(f"attribute {name!r}: field {number} is not of the schema")
    return name, value


def _add_attribute(attributes: Attributes, lists: list[str], field: Field) -> None:
    """Add an attribute; the name of an attribute whose value is not read is added to ``lists``."""
    name, value = _attribute(field.content())
    if name in attributes or name in lists:
        raise ValueError(f"attribute {name!r} is given twice")
    if value is None:
        lists.append(name)
    else:
        attributes[name] = value


def _check_version(message: bytes) -> None:
    """Raise ValueError unless metadata name a supported version, in ``version`` or as suffix of the schema's name."""
    version, attributes = "", Attributes()
    for field in fields(message):
        if field.number == 1:
            version = field.text()
        elif field.number == 2:
            _add_attribute(attributes, [], field)
        else:
            raise ValueError(f"metadata: field {field.number} is not of the schema")
    schema = re.search(r"chakra\.([0-9.]+)$", str(attributes.get("schema", "")))
    number = version or (schema[1] if schema else "")
    if number not in VERSIONS:
        raise ValueError(f"version {number!r} of Chakra's schema: must be one of {', '.join(VERSIONS)}")


def _node(message: bytes) -> Node:
    """Return the node that a message of the trace encodes; ValueError for types or fields that are not read."""
    number = duration = kind = 0
    name, needs, attributes, lists = "", dict[int, None](), Attributes(), list[str]()
    others = list[int]()
    for field in fields(message):
        if field.number == 1:
            number = field.integer()
        elif field.number == 2:
            name = field.text()
        elif field.number == 3:
            kind = field.integer()
        elif field.number in (4, 5):
            needs |= dict.fromkeys(varints(field))
        elif field.number == 7:
            duration = field.integer()
        elif field.number == 10:
            _add_attribute(attributes, lists, field)
        elif field.number not in NOT_USED:
            others.append(field.number)
    if kind not in READ:
        names = ", ".join(readable.name for readable in READ)
        named = Kind(kind).name if kind in list(Kind) else f"type {kind}"
        raise ValueError(f"node {number}, {named} {name!r}: must be one of {names}")
    if others:
        msg = f"field {others[0]} is not of the schema"
        raise ValueError(f"node {number}, {Kind(kind).name} {name!r}: {msg}")
    return Node(number, name, Kind(kind), tuple(needs), duration, attributes, tuple(lists))


def nodes_of_trace(data: bytes) -> dict[int, Node]:
    r"""Return the nodes of a trace file by their numbers, in ascending order.

    Raises
    ------
    ValueError
        For data that are no trace of a supported version, nodes of memory and storage, duplicate numbers of nodes, and
        dependencies that are not in the trace.

    Examples
    --------
    >>> version, node = b"\n\x050.0.4", b"\x12\x01a\x18\x04\x38\x07"
    >>> found = nodes_of_trace(b"".join(bytes([len(each)]) + each for each in (version, node)))
    >>> print(found[0], found[0].duration)
    node 0, COMP_NODE 'a' 7
    """
    if data.startswith(GZIP):
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(data)) as file:
                data = file.read(MAX_FILE_BYTES + 1)
        except (EOFError, OSError, zlib.error) as error:
            raise ValueError(f"no trace of Chakra: {error}") from None
        if len(data) > MAX_FILE_BYTES:
            raise ValueError(f"must have at most {MAX_FILE_BYTES} bytes (64 MiB) when unpacked")
    nodes: dict[int, Node] = {}
    stream = messages(data)
    try:
        _check_version(next(stream, b""))
        for message in stream:
            node = _node(message)
            if node.number in nodes:
                raise ValueError(f"{node}: its number is that of {nodes[node.number]}")
            nodes[node.number] = node
    except UnicodeDecodeError as error:
        raise ValueError(f"no trace of Chakra: {error}") from None
    for node in nodes.values():
        for need in node.needs:
            if need not in nodes:
                raise ValueError(f"{node}: waits for node {need}, which is not in the trace")
    return dict(sorted(nodes.items()))
