"""View: the credits of a link, for zero loss and full rate, beside what pauses need on the same link."""

from __future__ import annotations

import numpy as np

from dfcmodel import headroom
from dfcmodel.lossless import credits
from dfcmodel.lossless.quantities import Given, metres
from dfcmodel.lossless.results import RequiredCredits
from validation.explore.data_sheets import (
    CABLE,
    CABLES,
    MTU,
    RATE,
    SMALL_FRAMES,
    item_bars,
    sizes,
    words,
)
from validation.explore.views import Chart, Drawing, Line, View

__all__ = ["VIEW"]

CREDITS = (32, 64, 80, 128, 192, 254, 256)
UPDATES = ("0ns", "100ns", "500ns", "1us", "5us")


def _link(
    rate: str, cable: str, small: float, mtu: Given, lossless: Given, credit: Given | None,
    message: Given, update: Given,
) -> RequiredCredits:  # fmt: skip
    return credits(
        rate, cable, mtu, lossless, credit, small_packets=small, message=message, update=update
    )


def _draw(
    rate: str, cable: str, small: float, mtu: Given, lossless: Given, credit: Given | None,
    message: Given, update: Given,
) -> Drawing:  # fmt: skip
    frames = (mtu, lossless, credit)

    def with_credits(length: str) -> RequiredCredits:
        return _link(rate, length, small, *frames, message, update)

    def with_pauses(length: str) -> float:
        port = headroom(rate, length, *frames, small_packets=small)
        assert isinstance(port.bytes, int)  # no input is a range
        assert isinstance(port.xon_bytes, int)
        return port.bytes + port.xon_bytes

    found = with_credits(cable)
    pauses = with_pauses(cable)
    count = "" if credit is None else f"{found.credits:,} credits, "
    finding = (
        f"{count}{found.bytes:,} bytes: with fewer a sender at line rate waits. With any number nothing is lost; "
        f"{found.least * found.link.cell:,} bytes are needed for one frame. With pauses the same link needs {pauses:,.0f} bytes "
        "for zero loss and full rate."
    )
    links = [with_credits(length) for length in CABLES]
    lengths = np.array([metres("cable", length) for length in CABLES])
    lines = (
        Line("credits", lengths, np.array([each.bytes / 1e3 for each in links]), marked=True),
        Line("pauses", lengths, np.array([with_pauses(each) / 1e3 for each in CABLES]), marked=True),
    )  # fmt: skip
    return Drawing(
        finding,
        (Chart("Zero loss and full rate", "cable (m)", "buffer (kB)", lines, logarithmic=True),),
        bars=item_bars("What the credits consist of", "buffer (kB)", found.items),
    )


def _code(
    rate: str, cable: str, small: float, mtu: Given, lossless: Given, credit: Given | None,
    message: Given, update: Given,
) -> str:  # fmt: skip
    return f"""\
from dfcmodel import headroom
from dfcmodel.lossless import credits

frames = {{"mtu": {mtu!r}, "lossless_mtu": {lossless!r}, "small_packets": {small}}}
found = credits(
    "{rate}", "{cable}", credit={credit!r}, message={message!r}, update={update!r}, **frames,
)
pause = headroom("{rate}", "{cable}", cell={credit!r}, **frames)
print(found)  # found.credits, found.bytes, found.least, found.items
print(pause.bytes + pause.xon_bytes, "bytes with pauses")
"""


VIEW = View(
    name="credits",
    title="Credits",
    question="How many credits does a link need so that its sender never waits?",
    about=(
        "The proved worst case of a link with credits (InfiniBand, CBFC of Ultra Ethernet): frames that are sent before the credits "
        "of a frame come back. The message that returns them waits behind a frame. Delays of MAC, retimers and pipelines are zero here, "
        "and the peer of a pause takes the longest time that IEEE 802.3 allows."
    ),
    knobs=(
        RATE,
        CABLE,
        SMALL_FRAMES,
        MTU,
        sizes("lossless", "Largest frame under credits", (512, 1088, 2200, 4096, 4200), "4096 B"),
        sizes("credit", "Bytes of a credit", CREDITS, "192 B", without="bytes, no cells"),
        sizes("message", "Message that returns credits", (8, 16, 72, 84), "72 B"),
        words("update", "Longest time between messages", UPDATES, "0ns"),
    ),
    draw=_draw,
    code=_code,
)  # fmt: skip
"""What a link with credits asks of the buffer."""
