"""View: the credits of a link, for zero loss and full rate, beside what pauses need on the same link."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfcmodel import headroom
from dfcmodel.lossless import CreditDatasheet, credits
from dfcmodel.lossless.quantities import Given, metres
from dfcmodel.lossless.results import RequiredCredits
from validation.explore.data_sheets import CABLES, LINK, LinkSheet, item_bars, sizes, words
from validation.explore.views import Chart, Drawing, Line, View

CREDITS = (64, 80, 128, 192, 254, 256)
UPDATES = ("0ns", "100ns", "500ns", "1us", "5us")


@dataclass(frozen=True)
class _Link(LinkSheet):
    """The values of the knobs."""

    credit: Given | None
    message: Given
    update: Given

    def link(self, cable: str) -> RequiredCredits:
        """Return the credits for a cable."""
        return credits(
            self.rate, cable, self.mtu, self.lossless, self.credit,
            small_packets=self.small, datasheet=CreditDatasheet(message=self.message, update=self.update),
        )  # fmt: skip

    def bytes_with_pauses(self, cable: str) -> float:
        """Return the bytes that pauses need for zero loss and full rate."""
        frames = (self.mtu, self.lossless, self.credit)
        port = headroom(self.rate, cable, *frames, small_packets=self.small)
        assert isinstance(port.bytes, int)  # no input is a range
        assert isinstance(port.xon_bytes, int)
        return port.bytes + port.xon_bytes

    def drawing(self) -> Drawing:
        """Return credits and pauses over cables, and what the credits consist of."""
        found = self.link(self.cable)
        pauses = self.bytes_with_pauses(self.cable)
        count = "" if self.credit is None else f"{found.credits:,} credits, "
        finding = (
            f"{count}{found.bytes:,} bytes: with fewer a sender at line rate waits. With any number nothing is lost; "
            f"{found.least * found.link.cell:,} bytes are needed for one frame. With pauses the same link needs {pauses:,.0f} bytes "
            "for zero loss and full rate."
        )
        links = [self.link(length) for length in CABLES]
        lengths = np.array([metres("cable", length) for length in CABLES])
        lines = (
            Line("credits", lengths, np.array([each.bytes / 1e3 for each in links]), marked=True),
            Line("pauses", lengths, np.array([self.bytes_with_pauses(each) / 1e3 for each in CABLES]), marked=True),
        )  # fmt: skip
        return Drawing(
            finding,
            (Chart("Zero loss and full rate", "cable (m)", "buffer (kB)", lines, logarithmic=True),),
            bars=item_bars("What the credits consist of", "buffer (kB)", found.items),
        )

    def code(self) -> str:
        """Return Python that prints the same numbers."""
        return f"""\
from dfcmodel import headroom
from dfcmodel.lossless import CreditDatasheet, credits

sheet = CreditDatasheet(message={self.message!r}, update={self.update!r})
frames = {{"mtu": {self.mtu!r}, "lossless_mtu": {self.lossless!r}, "small_packets": {self.small}}}
found = credits("{self.rate}", "{self.cable}", credit={self.credit!r}, datasheet=sheet, **frames)
pause = headroom("{self.rate}", "{self.cable}", cell={self.credit!r}, **frames)
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
        *LINK,
        sizes("lossless", "Largest frame under credits", (512, 1088, 2200, 4096, 4200), "4096 B"),
        sizes("credit", "Bytes of a credit", CREDITS, "192 B", without="bytes, no cells"),
        sizes("message", "Message that returns credits", (8, 16, 72, 84), "72 B"),
        words("update", "Longest time between messages", UPDATES, "0ns"),
    ),
    draw=lambda **knobs: _Link(**knobs).drawing(),
    code=lambda **knobs: _Link(**knobs).code(),
)  # fmt: skip
"""What a link with credits asks of the buffer."""
