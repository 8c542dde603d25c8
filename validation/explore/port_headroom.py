"""View: the headroom of a lossless port, from what the data sheet of a switch says."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dfcmodel import PauseDatasheet, headroom
from dfcmodel.lossless.quantities import Given
from dfcmodel.lossless.results import Headroom
from validation.explore.data_sheets import (
    CABLES,
    CELLS,
    LINK,
    RESPONSE,
    SHARES,
    LinkSheet,
    item_bars,
    sizes,
    words,
)
from validation.explore.views import Chart, Drawing, Line, View

PIPELINES = ("0ns", "100ns", "250ns", "500ns", "1us", "2us")


@dataclass(frozen=True)
class _Port(LinkSheet):
    """The values of the knobs."""

    cell: Given | None
    response: str | None
    pipeline: str

    def headroom(self) -> Headroom:
        """Return the headroom."""
        return headroom(
            self.rate, self.cable, self.mtu, self.lossless, self.cell, small_packets=self.small,
            datasheet=PauseDatasheet(
                response=self.response, response_measured=self.response is not None, pipeline=self.pipeline
            ),
        )  # fmt: skip

    def drawing(self) -> Drawing:
        """Return the headroom over cables for three shares of small frames, and what it consists of."""
        port = self.headroom()
        size, largest = _bytes(port), max(port.items, key=lambda item: item.bytes[1])
        cells = "" if port.cells is None else f", {port.cells:,} cells,"
        finding = (
            f"{size:,} bytes{cells} above the pause threshold lose nothing; {largest.share:.0%} is for: "
            f"{largest.name}. Resume at {port.xon_bytes:,} bytes or more."
        )
        lines = tuple(
            replace(self, small=share).over_cables(label)
            for label, share in zip(("MTU", "half small", "any"), SHARES.values(), strict=True)
        )
        title = "Headroom by cable and frame sizes"
        return Drawing(
            finding,
            (Chart(title, "cable (m)", "headroom (kB)", lines, logarithmic=True),),
            bars=item_bars("What it consists of", "headroom (kB)", port.items),
        )

    def over_cables(self, label: str) -> Line:
        """Return the headroom over cables."""
        ports = [replace(self, cable=cable).headroom() for cable in CABLES]
        lengths, sizes = [port.metres[1] for port in ports], [_bytes(port) / 1e3 for port in ports]
        return Line(label, np.array(lengths), np.array(sizes), marked=True)

    def code(self) -> str:
        """Return Python that prints the same numbers."""
        measured = "" if self.response is None else f'response="{self.response}", response_measured=True, '
        return f"""\
from dfcmodel import headroom
from dfcmodel.lossless import PauseDatasheet

sheet = PauseDatasheet({measured}pipeline="{self.pipeline}")
port = headroom(
    "{self.rate}", "{self.cable}", mtu={self.mtu!r}, lossless_mtu={self.lossless!r}, cell={self.cell!r},
    small_packets={self.small}, datasheet=sheet,
)
print(port)  # port.bytes, port.cells, port.items, port.xon_bytes
"""


def _bytes(port: Headroom) -> int:
    assert isinstance(port.bytes, int)  # no input is a range
    return port.bytes


VIEW = View(
    name="headroom",
    title="Headroom",
    question="How many bytes must a lossless port keep free above its pause threshold?",
    about=(
        "The proved worst case of a port that pauses its sender (PFC): what arrives until the sender is silent, "
        "in whole frames and cells. Delays of MAC and retimers are zero here. A change takes a hundredth of a second."
    ),
    knobs=(
        *LINK,
        sizes("lossless", "Largest lossless frame", (512, 1024, 1088, 2200, 4096, 4200), "4096 B"),
        sizes("cell", "Buffer cell", CELLS, "192 B", without="bytes, no cells"),
        RESPONSE,
        words("pipeline", "From threshold to pause frame", PIPELINES, "0ns"),
    ),
    draw=lambda **knobs: _Port(**knobs).drawing(),
    code=lambda **knobs: _Port(**knobs).code(),
)
"""What a data sheet asks of the buffer."""
