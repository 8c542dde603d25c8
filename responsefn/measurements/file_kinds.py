"""Kinds of measurement files by their beginning, so that a reader names the reader of another kind."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

__all__ = ["refuse_other_kinds"]

HEAD = 2**16
"""Bytes of a file by which its kind is recognized."""
OF_TCP = "has no reader: run ss -ti at the sender meanwhile (read_ss), or give p, rtt and rates to fit"
OF_QUIC = "has no reader: let the sender write qlog (read_qlog)"


class _Kind(NamedTuple):
    """A kind of files: its name, its reader or what to do without one, and how it is recognized."""

    name: str
    reader: str
    pattern: re.Pattern[bytes]


KINDS = (
    _Kind(
        "a packet capture",
        "read_pcap",
        re.compile(rb"\A(?:\xd4\xc3\xb2\xa1|\xa1\xb2\xc3\xd4|\x4d\x3c\xb2\xa1|\xa1\xb2\x3c\x4d|\n\r\r\n)"),
    ),
    _Kind("qlog", "read_qlog", re.compile(rb'\A[\s\x1e]*\{.*"(?:qlog_version|qlog_format|file_schema)"', re.DOTALL)),
    _Kind("JSON of iperf3", OF_TCP, re.compile(rb'\A\s*\{.*"version":\s*"iperf ', re.DOTALL)),
    _Kind("a NetLog of Chrome", OF_QUIC, re.compile(rb'\A\s*\{.*"logEventTypes"', re.DOTALL)),
    _Kind("the output of iperf3", OF_TCP, re.compile(rb"^\[ *(?:ID|[0-9]+)\] +(?:Interval|local )", re.MULTILINE)),
    _Kind("the output of the tracepoint tcp_probe", OF_TCP, re.compile(rb"\btcp_probe: .*\bsnd_cwnd=[0-9]")),
    _Kind("the output of ss", "read_ss", re.compile(rb"\b(?:ESTAB|Recv-Q)\b(?s:.)*?\bcwnd:[0-9]")),
)
"""Kinds in the order of their tests."""


def refuse_other_kinds(source: object, name: str, is_path: bool, reader: str) -> None:
    """Raise ValueError for a file or text of another kind.

    Parameters
    ----------
    source
        A path, or the text itself.
    name
        The parameter and its value, for the message.
    is_path
        Whether ``source`` is a path.
    reader
        Name of the reader of the expected kind.
    """
    if is_path:
        try:
            with Path(str(source)).open("rb") as file:
                head = file.read(HEAD)
        except (OSError, ValueError):  # the reader says so
            return
    else:
        head = str(source)[:HEAD].encode("utf-8", "surrogatepass")
    for kind in KINDS:
        if kind.pattern.search(head):
            if kind.reader != reader:
                what = f"which {kind.reader}" if " " in kind.reader else f"read it by {kind.reader}"
                raise ValueError(f"{name}: is {kind.name}, {what}")
            return
