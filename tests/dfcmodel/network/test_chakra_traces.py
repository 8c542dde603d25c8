"""Nodes of execution traces of Chakra."""

from __future__ import annotations

import gzip

import pytest

from dfcmodel.network.chakra_traces import Attributes, Kind, nodes_of_trace
from tests.dfcmodel.network.chakra_writer import (
    ALL_TYPES,
    COMP,
    attribute,
    field,
    node,
    trace,
    varint,
)


def test_a_trace_of_the_library_is_read() -> None:
    """Integers of every encoding, their signs, fixed widths, strings and truth values are as they were given to the library."""
    found = nodes_of_trace(ALL_TYPES)
    assert list(found) == [300, 301, 302]
    assert [each.kind for each in found.values()] == [
        Kind.COMP_NODE,
        Kind.COMM_COLL_NODE,
        Kind.METADATA_NODE,
    ]
    assert found[300].name == "all types"
    assert found[300].duration == 12345678
    assert found[300].attributes == {
        "double": 1.25, "float": -0.5, "int32": -7, "int64": -(2**63), "uint32": 2**32 - 1, "uint64": 2**64 - 1,
        "sint32": -(2**31), "sint64": 2**63 - 1, "fixed32": 17, "fixed64": 2**40, "sfixed32": -18, "sfixed64": -(2**40),
        "bool": 1, "bool_list": (True, False, True), "string": "grün",
    }  # fmt: skip
    assert found[301].needs == (300, 302)
    assert found[301].attributes == {"comm_type": 0, "comm_size": 1 << 20}


def test_compressed_traces() -> None:
    assert nodes_of_trace(gzip.compress(ALL_TYPES)) == nodes_of_trace(ALL_TYPES)
    with pytest.raises(ValueError, match="no trace of Chakra: Compressed file ended"):
        nodes_of_trace(gzip.compress(ALL_TYPES)[:-9])


@pytest.mark.parametrize("version", ["0.0.4", "1.0.0"])
def test_versions(version: str) -> None:
    """The version is a field, or the end of the attribute that names the schema, as Chakra's converters write it."""
    one = node(3, COMP, duration=5)
    schema = field(2, attribute("schema", f"1.0.2-chakra.{version}"))
    for found in (
        trace(one, version=version),
        varint(len(schema)) + schema + varint(len(one)) + one,
    ):
        assert nodes_of_trace(found)[3].duration == 5


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "version '' of Chakra's schema: must be one of 0.0.4, 1.0.0"),
        (trace(version="0.0.3"), "version '0.0.3' of Chakra's schema"),
        (trace(node(1, 2)), "node 1, MEM_LOAD_NODE 'n1': must be one of INVALID_NODE, METADATA_NODE, COMP_NODE, COMM_SEND"),
        (trace(node(1, 9)), "node 1, BATCH_NODE 'n1': must be one of"),
        (trace(node(1, 77)), "node 1, type 77 'n1': must be one of"),
        (trace(node(1, COMP), node(1, 1)), "node 1, METADATA_NODE 'n1': its number is that of node 1, COMP_NODE"),
        (trace(node(1, COMP, [2])), "node 1, COMP_NODE 'n1': waits for node 2, which is not in the trace"),
        (trace(field(2, b"\xff")), "no trace of Chakra: 'utf-8' codec"),
        (b"DATA\n1\n", "byte 1: ends after 6 of 68 bytes"),
    ],
)  # fmt: skip
def test_what_is_refused(data: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        nodes_of_trace(data)


@pytest.mark.parametrize(
    ("value", "message"),
    [("many", "n: 'many': must be a whole number"), (-1, "n: -1: must be a whole number")],
)
def test_attributes_that_are_no_numbers(value: int | str, message: str) -> None:
    attributes = nodes_of_trace(trace(node(0, COMP, n=value)))[0].attributes
    with pytest.raises(ValueError, match=message):
        attributes.whole("n")
    with pytest.raises(ValueError, match="m: must be given"):
        attributes.whole("m")
    assert attributes.whole("m", 7) == 7


@pytest.mark.parametrize("value", [float("inf"), float("nan"), 0.5, (True,)])
def test_numbers_that_are_not_whole_are_refused(value: float | tuple[bool, ...]) -> None:
    with pytest.raises(ValueError, match=r"n: .*: must be a whole number of at least 0"):
        Attributes(n=value).whole("n")
    assert Attributes(n=3.0).whole("n") == 3
