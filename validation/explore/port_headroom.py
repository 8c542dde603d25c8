"""View: the headroom of a lossless port, from what the data sheet of a switch says."""

from __future__ import annotations

from typing import Any

import numpy as np

from dfcmodel import headroom
from dfcmodel.lossless.quantities import Given
from dfcmodel.lossless.results import Headroom
from validation.explore.views import Bars, Chart, Drawing, Knob, Line, View

__all__ = ["CABLES", "RATES", "RESPONSES", "SHARES", "VIEW"]

RATES = (
    "1Gbps",
    "10Gbps",
    "25Gbps",
    "40Gbps",
    "50Gbps",
    "100Gbps",
    "200Gbps",
    "400Gbps",
    "800Gbps",
)
CABLES = (
    "1m",
    "3m",
    "5m",
    "10m",
    "20m",
    "40m",
    "100m",
    "300m",
    "500m",
    "1km",
    "2km",
    "10km",
    "40km",
)
SHARES = {"none, all have the MTU": 0.0, "half of the frames": 0.5, "any sizes": 1.0}
RESPONSES = {"maximum of IEEE 802.3": None} | {
    f"{each}, measured": each for each in ("2us", "1.2us", "800ns", "400ns", "200ns")
}
PIPELINES = ("0ns", "100ns", "250ns", "500ns", "1us", "2us")


def _port(
    rate: str, cable: str, small: float, mtu: Given, lossless: Given, cell: Given | None,
    response: str | None, pipeline: str,
) -> Headroom:  # fmt: skip
    return headroom(
        rate, cable, mtu, lossless, cell, small_packets=small, response=response,
        response_measured=response is not None, pipeline=pipeline,
    )  # fmt: skip


def _bytes(port: Headroom) -> int:
    assert isinstance(port.bytes, int)  # no input is a range
    return port.bytes


def _over_cables(label: str, **sheet: Any) -> Line:
    ports = [_port(cable=cable, **sheet) for cable in CABLES]
    lengths, sizes = [port.metres[1] for port in ports], [_bytes(port) / 1e3 for port in ports]
    return Line(label, np.array(lengths), np.array(sizes), marked=True)


def _draw(rate: str, cable: str, small: float, **sheet: Any) -> Drawing:
    port = _port(rate, cable, small, **sheet)
    size, largest = _bytes(port), max(port.items, key=lambda item: item.bytes[1])
    cells = "" if port.cells is None else f", {port.cells:,} cells,"
    finding = (
        f"{size:,} bytes{cells} above the pause threshold lose nothing; {largest.share:.0%} is for: "
        f"{largest.name}. Resume at {port.xon_bytes:,} bytes or more."
    )
    lines = tuple(
        _over_cables(label, rate=rate, small=share, **sheet)
        for label, share in zip(("MTU", "half small", "any"), SHARES.values(), strict=True)
    )
    lengths = np.array([item.bytes[1] / 1e3 for item in port.items])
    texts = tuple(f"{item.share:.1%}" if any(item.bytes) else "" for item in port.items)
    names = tuple(item.name for item in port.items)
    title = "Headroom by cable and frame sizes"
    return Drawing(
        finding,
        (Chart(title, "cable (m)", "headroom (kB)", lines, logarithmic=True),),
        bars=Bars("What it consists of", "headroom (kB)", names, lengths, texts),
    )


def _code(
    rate: str, cable: str, small: float, mtu: Given, lossless: Given, cell: Given | None,
    response: str | None, pipeline: str,
) -> str:  # fmt: skip
    measured = "" if response is None else f'\n    response="{response}", response_measured=True,'
    return f"""\
from dfcmodel import headroom

port = headroom(
    "{rate}", "{cable}", mtu={mtu!r}, lossless_mtu={lossless!r}, cell={cell!r},{measured}
    pipeline="{pipeline}", small_packets={small},
)
print(port)  # port.bytes, port.cells, port.items, port.xon_bytes
"""


VIEW = View(
    name="headroom",
    title="Headroom",
    question="How many bytes must a lossless port keep free above its pause threshold?",
    about=(
        "The proved worst case of a port that pauses its sender (PFC): what arrives until the sender is silent, "
        "in whole frames and cells. Delays of MAC and retimers are zero here. A change takes a hundredth of a second."
    ),
    knobs=(
        Knob("rate", "Line rate", {rate: rate for rate in RATES}, "400Gbps", free=str),
        Knob("cable", "Cable", {cable: cable for cable in CABLES}, "300m", free=str),
        Knob("small", "Frames that may be small", SHARES, "none, all have the MTU", slider=False),
        Knob(
            "mtu",
            "Largest frame of the port",
            {f"{size} B": size for size in (4200, 9100, 9216, 9600)},
            "9216 B",
            slider=False,
            free=str,
        ),
        Knob(
            "lossless",
            "Largest lossless frame",
            {f"{size} B": size for size in (512, 1024, 1088, 2200, 4096, 4200)},
            "4096 B",
            slider=False,
            free=str,
        ),
        Knob(
            "cell",
            "Buffer cell",
            {"bytes, no cells": None}
            | {f"{size} B": size for size in (80, 96, 144, 192, 208, 254, 256, 288)},
            "192 B",
            slider=False,
            free=str,
        ),
        Knob(
            "response",
            "Response time of the peer",
            RESPONSES,
            "maximum of IEEE 802.3",
            slider=False,
        ),
        Knob(
            "pipeline",
            "From threshold to pause frame",
            {each: each for each in PIPELINES},
            "0ns",
            free=str,
        ),
    ),
    draw=_draw,
    code=_code,
)
"""What a data sheet asks of the buffer."""
