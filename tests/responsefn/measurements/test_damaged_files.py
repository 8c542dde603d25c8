"""Damaged measurements: what each reader says of them, or finds in them, as recorded.

``python -m tests.responsefn.measurements.test_damaged_files``, part of ``make generated``, writes the record after a reader was changed on
purpose. What a reader should find is tested beside each reader.
"""

from __future__ import annotations

import hashlib
import random
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from responsefn import read_pcap, read_qlog, read_ss
from tests.records import read_record, write_record
from tests.responsefn.measurements import test_captures, test_fitting, test_qlogs

COUNT = 120
"""Damaged copies of each file."""
NUMBERS = ("0", "-1", "7", "1e400", "nan", "12.5", "99999999999", "")


def damaged_texts(text: str, draw: random.Random) -> Iterator[str]:
    """Yield copies of a text in which a word or a line is missing, doubled, moved or another one."""
    words = re.findall(r"[\w.]+|\s+|.", text)
    of_numbers = [n for n, word in enumerate(words) if re.fullmatch(r"[\d.]+", word)]
    for _ in range(COUNT):
        copy, n = list(words), draw.randrange(len(words))
        match draw.randrange(7):
            case 0:
                del copy[n]
            case 1:
                copy.insert(n, copy[n])
            case 2:
                m = draw.randrange(len(words))
                copy[n], copy[m] = copy[m], copy[n]
            case 3 | 4:
                n = draw.choice(of_numbers)
                copy[n] = draw.choice((*NUMBERS, copy[n][::-1], f"{copy[n]}1"))
            case 5:
                copy[n] = draw.choice(words)
            case _:
                lines = text.splitlines(keepends=True)
                line = draw.randrange(len(lines))
                copy = lines[:line] + lines[line + 1 :] if len(lines) > 2 else copy[:n]
        yield "".join(copy)


def damaged_bytes(content: bytes, draw: random.Random) -> Iterator[bytes]:
    """Yield copies of a file with another byte, or without some bytes."""
    for n in range(COUNT):
        at = draw.randrange(min(len(content), 300) if n % 2 else len(content))
        if n % 6 == 5:
            yield content[:at] + content[at + draw.choice((1, 4, 16)) :]
        else:
            yield (
                content[:at] + bytes([draw.choice((0, 1, 255, content[at] ^ 1, content[at] ^ 128))]) + content[at + 1 :]
            )


def outcome(read: Callable[[], Any]) -> str:
    """Return the message of a refusal, or the numbers of the samples with the warnings, digits that all machines share."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = read()
        except (ValueError, OSError) as error:
            return f"{type(error).__name__}: {str(error).replace(tempfile.gettempdir(), '')}"
    numbers = [
        [float(f"{value:.7g}") for value in column] for column in (found.p, found.rtt, found.rate, found.packets)
    ]
    messages = [re.sub(r"\S*/a\.pcap", "a.pcap", str(warning.message)) for warning in caught]
    return f"{found.names} {numbers} {messages}"


def _read_capture(content: bytes) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "a.pcap"
        file.write_bytes(content)
        try:
            return read_pcap(file, 5)
        except ValueError as error:
            raise ValueError(str(error).replace(str(file), "a.pcap")) from None


QLOGS = {
    form.__name__: form()
    for form in (
        test_qlogs.aioquic,
        test_qlogs.quic_go,
        test_qlogs.picoquic,
        test_qlogs.quictrace,
        test_qlogs.mvfst,
        test_qlogs.current,
    )
}
SS = {
    "BBR": test_fitting.BBR_MONITOR,
    "losses": test_fitting.LOSSY,
    "Prague": test_fitting.PRAGUE,
    "an agent": test_fitting.AGENT,
    "a port": f"ESTAB 0 0 10.0.0.1:22 10.0.0.2:4 {test_fitting.FIELDS} delivery_rate 8Mbps\n",
}
CAPTURES = {
    "IPv4": test_captures.pcap(test_captures.transfer_of(test_captures.ipv4)),
    "IPv6 in Ethernet": test_captures.pcap(
        test_captures.transfer_of(lambda tcp: test_captures.ethernet(0x86DD, test_captures.ipv6(tcp))), 1
    ),
    "extension headers": test_captures.pcap(
        test_captures.transfer_of(
            lambda tcp: test_captures.ipv6(tcp, None, test_captures.HOP_BY_HOP + test_captures.DESTINATION, 0)
        )
    ),
    "pcapng": test_captures.pcapng(test_captures.transfer_of(test_captures.ipv4), 101, ">", 0x94),
}


def outcomes(name: str) -> list[str]:
    """Return the outcome of each damaged copy of a file."""
    kind, _, form = name.partition(" of ")
    draw = random.Random(name)
    if kind == "qlog":
        size = 1200 if form in ("aioquic", "quic_go", "quictrace") else None
        return [outcome(partial(read_qlog, text, size)) for text in damaged_texts(QLOGS[form], draw)]
    if kind == "ss":
        return [outcome(partial(read_ss, text)) for text in damaged_texts(SS[form], draw)]
    return [outcome(partial(_read_capture, content)) for content in damaged_bytes(CAPTURES[form], draw)]


NAMES = (
    [f"qlog of {name}" for name in QLOGS]
    + [f"ss of {name}" for name in SS]
    + [f"capture of {name}" for name in CAPTURES]
)


def shortened(text: str) -> str:
    """Return a text, or its beginning and a digest of all of it."""
    return text if len(text) < 200 else f"{text[:120]} ... {hashlib.sha256(text.encode()).hexdigest()[:16]}"


@pytest.mark.parametrize("name", NAMES)
def test_a_damaged_file_has_the_recorded_outcome(name: str) -> None:
    assert [shortened(text) for text in outcomes(name)] == read_record(__file__)[name]


if __name__ == "__main__":
    record = {name: [shortened(text) for text in outcomes(name)] for name in NAMES}
    write_record(__file__, record)
