"""Common parts of readers of files that list flows: bounded reading, packet sizes, columns of flows."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dfcmodel.network.demands.collectives import build_flows
from dfcmodel.network.demands.exchanges import NONE
from dfcmodel.network.flows import Flows
from dfcmodel.network.links import Column, Links
from hopflow.callers import warn_caller
from hopflow.checks import file_path, one_number
from hopflow.text_files import compression_hint, stand_in_hint
from hopflow.units import PACKET_SIZE, PacketUnits, whole_packets

__all__ = [
    "ListedFlows",
    "packet_size_for",
    "parse_whole_number",
    "read_bytes",
    "read_text",
    "refuse_file_options",
    "size_in_packets",
]

MAX_FILE_BYTES = 64 * 2**20
"""Largest size of a file, and of the contents of a compressed file."""


OF_FLOW = re.compile(r"(?:sources|targets)\[([0-9]+)\] = ")
"""Beginning of the errors of `build_flows` for one of its flows."""


class ListedFlows(NamedTuple):
    """F flows of a file: ranks of sources and targets, packets, starts in s, and indices of predecessors.

    ``delays`` are F tuples in s, as in `Flow`; (): none. ``lines`` are the lines of the file that have the flows; (): a
    line may have many. ``ranks`` is the number of ranks of the file, with the place that states it; None: any.
    """

    source: Sequence[int]
    target: Sequence[int]
    size: Sequence[float]
    start: Sequence[float]
    after: Sequence[Sequence[int]]
    delays: Sequence[tuple[float, ...]] = ()
    lines: Sequence[int] = ()
    ranks: tuple[int, str] | None = None

    def between(self, nodes: Sequence[Any], arguments: Mapping[str, Any], name: str) -> Flows:
        """Return these flows as a table, rank r at ``nodes[r]``, by arguments of `build_flows`; errors name ``name``.

        A warning names nodes for which the file has no rank.

        Raises
        ------
        ValueError
            For a flow between nodes without a path, naming the file, ``name``, and its line or the ranks.
        """
        source, target = (
            Column(nodes, np.array(ranks, dtype=np.int64), len(ranks)) for ranks in (self.source, self.target)
        )
        options = dict(arguments)
        if any(self.after):
            after = np.full((len(self.after), max(map(len, self.after))), NONE)
            for row, indices in zip(after, self.after, strict=True):
                row[: len(indices)] = indices
            options["after"] = after
        if any(self.delays):
            options["delays"] = list(self.delays)
        try:
            flows = build_flows(source, target, self.size, np.array(self.start), **options)
        except ValueError as error:
            flow = OF_FLOW.match(f"{error}")
            if flow is None:
                raise
            n = int(flow[1])
            line = f"line {self.lines[n]}, " if len(self.lines) else "ranks "
            pair = f"{line}{self.source[n]}->{self.target[n]}"
            raise ValueError(f"{name}: {pair}: {f'{error}'[flow.end() :]}") from None
        ranks, stated = self.ranks or (len(nodes), "")
        if ranks < len(nodes):
            message = (
                f"{name}: {stated}: {len(nodes) - ranks} of {len(nodes)} hosts, from hosts[{ranks}] on, take no part; "
                f"if this is intended, write hosts[:{ranks}]"
            )
            warn_caller(UserWarning(message), "dfcmodel")
        return flows


def read_text(path: str | os.PathLike[str], max_bytes: int = MAX_FILE_BYTES) -> str:
    """Return the text of a UTF-8 file of at most ``max_bytes``, without a byte-order mark.

    Raises
    ------
    ValueError
        Naming the file, if it is larger, not UTF-8, or stands in for another file.
    OSError
        When it cannot be read.
    """
    name = f"{file_path('path', path)}"
    content = read_bytes(path, max_bytes)
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        message = f"byte {error.start}: must be a text in UTF-8{compression_hint(content)}"
        raise ValueError(f"path = {name!r}, {message}") from None
    if hint := stand_in_hint(text):
        raise ValueError(f"path = {name!r}: {hint}")
    return text


def read_bytes(path: str | os.PathLike[str], max_bytes: int = MAX_FILE_BYTES) -> bytes:
    """Return the contents of a file of at most ``max_bytes``; see `read_text` for errors."""
    with file_path("path", path).open("rb") as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        msg = f"must have at most {max_bytes} bytes ({max_bytes // 2**20} MiB)"
        raise ValueError(f"path = {f'{path}'!r}: {msg}")
    return data


def packet_size_for(requested: float | None, options: Mapping[str, Any]) -> float:
    """Return bytes per packet: ``requested``; if None, that of the `Links` ``options["links"]``; otherwise 1500."""
    if requested is not None:
        return one_number("packet_size", requested, at_least=1.0, hint="in bytes")
    links = options.get("links")
    carried = links.packet_size if isinstance(links, Links) else None
    return PACKET_SIZE if carried is None else carried


def size_in_packets(in_bytes: float, packet_size: float) -> PacketUnits:
    """Return a size in bytes as packets rounded up; a `Scenario` converts it to packets of its size.

    >>> size_in_packets(2e6, 4096.0), size_in_packets(2e6, 4096.0).in_packets_of(1000.0)
    (489.0, 2000.0)
    """
    return whole_packets(PacketUnits(in_bytes / packet_size, packet_size, in_bytes))


def refuse_file_options(options: Iterable[str]) -> None:
    """Raise TypeError for "after" or "delays" among the names of the caller's options: the file itself has them."""
    for option in ("after", "delays"):
        if option in options:
            raise TypeError(f"{option}: must not be given, the file has its own")


def parse_whole_number(n: int, name: str, word: str) -> int:
    """Return a word of line n as a whole number; errors name the line and ``name``.

    Raises
    ------
    ValueError
        Naming the line, for any other word.
    """
    if not re.fullmatch("[0-9]{1,18}", word):
        raise ValueError(f"line {n}: {name} {word[:40]}: must be a whole number below 10^18")
    return int(word)
