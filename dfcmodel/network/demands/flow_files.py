"""What readers of files that list flows have in common: bounded reading, sizes of packets, columns of flows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dfcmodel.network.columns import Column
from dfcmodel.network.demands.collectives import flows_from
from dfcmodel.network.demands.exchanges import NONE
from dfcmodel.network.flow_tables import Flows
from dfcmodel.network.links import Links
from hopflow.checks import file_path, one_number
from hopflow.text_files import compression_hint
from hopflow.units import PACKET_SIZE, PacketUnits, whole_packets

__all__ = [
    "ListedFlows",
    "check_given",
    "packet_size_for",
    "read_bytes",
    "read_text",
    "size_in_packets",
    "whole_in",
]

MAX_FILE_BYTES = 64 * 2**20
"""Of a file, and of what a compressed one contains."""


class ListedFlows(NamedTuple):
    """Flows of a file, F of them: ranks at their ends, sizes, starts in s, and the places of the flows that each waits for.

    ``delays`` are those of `Flow`, F tuples in s; (): none.
    """

    source: Sequence[int]
    target: Sequence[int]
    size: Sequence[float]
    start: Sequence[float]
    after: Sequence[Sequence[int]]
    delays: Sequence[tuple[float, ...]] = ()

    def between(self, ends: Sequence[Any], given: Mapping[str, Any]) -> Flows:
        """Return the table of these flows between the nodes that have the ranks."""
        source, target = (
            Column(ends, np.array(ranks, dtype=np.int64), len(ranks)) for ranks in (self.source, self.target)
        )
        options = dict(given)
        if any(self.after):
            after = np.full((len(self.after), max(map(len, self.after))), NONE)
            for row, own in zip(after, self.after, strict=True):
                row[: len(own)] = own
            options["after"] = after
        if any(self.delays):
            options["delays"] = list(self.delays)
        return flows_from(source, target, self.size, np.array(self.start), **options)


def read_text(path: str | os.PathLike[str], at_most: int = MAX_FILE_BYTES) -> str:
    """Return the text of a file of so many bytes at most, encoded in UTF-8, without a byte-order mark.

    Raises
    ------
    ValueError
        Naming the file, where it is larger or encoded otherwise.
    OSError
        When it cannot be read.
    """
    name = f"{file_path('path', path)}"
    content = read_bytes(path, at_most)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {error.start}: must be a text in UTF-8{compression_hint(content)}"
        raise ValueError(f"path = {name!r}, {message}") from None


def read_bytes(path: str | os.PathLike[str], at_most: int = MAX_FILE_BYTES) -> bytes:
    """Return the contents of a file of so many bytes at most; see `read_text` for errors."""
    with file_path("path", path).open("rb") as file:
        data = file.read(at_most + 1)
    if len(data) > at_most:
        msg = f"must have at most {at_most} bytes ({at_most // 2**20} MiB)"
        raise ValueError(f"path = {f'{path}'!r}: {msg}")
    return data


def packet_size_for(requested: float | None, given: Mapping[str, Any]) -> float:
    """Return the bytes per packet for which sizes are rounded up: as requested, otherwise those of the links, otherwise 1500."""
    if requested is not None:
        return one_number("packet_size", requested, at_least=1.0, hint="in bytes")
    links = given.get("links")
    carried = links.packet_size if isinstance(links, Links) else None
    return PACKET_SIZE if carried is None else carried


def size_in_packets(in_bytes: float, packet_size: float) -> PacketUnits:
    """Return whole packets for some bytes, at least one, which a `Scenario` converts to its packets.

    >>> size_in_packets(2e6, 4096.0), size_in_packets(2e6, 4096.0).in_packets_of(1000.0)
    (489.0, 2000.0)
    """
    return whole_packets(PacketUnits(in_bytes / packet_size, packet_size, in_bytes))


def check_given(given: Iterable[str]) -> None:
    """Raise TypeError where an option is given that the file has."""
    for option in ("sizes", "starts", "after", "delays"):
        if option in given:
            raise TypeError(f"{option}: must not be given, the file has its own")


def whole_in(n: int, name: str, given: str) -> int:
    """Return the whole number that a word of line n is.

    Raises
    ------
    ValueError
        For another word.
    """
    if not re.fullmatch("[0-9]{1,18}", given):
        raise ValueError(f"line {n}: {name} {given[:40]}: must be a whole number below 10^18")
    return int(given)
