"""Credits that a link needs for zero loss and for a sender that never waits, with their components.

With credits a sender transmits a frame only if the receiver has cells for it. Any number of credits prevents loss; the
number determines the rate. The window, from the start of a frame until its credits can be used again, is the window of
the headroom without threshold and pause frame, so that the same knapsack gives the minimum number for full rate.
docs/headroom-credits.md proves it.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from dfcmodel.lossless.credit_runs import CreditScenario, CreditWitness, preamble_of
from dfcmodel.lossless.datasheets import CreditDatasheet
from dfcmodel.lossless.paused.headroom_items import Item
from dfcmodel.lossless.paused.paused_links import PausedLink
from dfcmodel.lossless.paused.worst_cases import Burst, largest_drain
from dfcmodel.lossless.quantities import LARGEST_FRAME, OVERHEAD, bit_rate, bit_times, frames_and_cell, metres, velocity
from hopflow.checks import one_number
from hopflow.deprecations import takes_options
from hopflow.fork_safety import cached_property
from hopflow.results import Result, figure
from hopflow.units import declares, in_units

if TYPE_CHECKING:
    from dfcmodel.lossless.quantities import Given

__all__ = ["RequiredCredits", "credits"]

SOURCES = {
    "frame received before it is forwarded": ("lossless_mtu + {preamble} B", "store and forward"),
    "frame that leaves": ("lossless_mtu + {preamble} B", "credits return when its last bit has left"),
    "frame leaving the receiver": ("mtu + {overhead} B", "frames are not interrupted"),
    "credit message": ("message", "with its preamble"),
    "waiting for the next message": ("rate x update / 8", "longest time between two returns"),
    "pipeline": ("rate x pipeline / 8", "data sheets of receiver and sender"),
    "interface": ("rate x interface / 8", "IEEE 802.3, delay of MAC and PHY; data sheet"),
    "gearbox": ("2 rate x gearbox / 8", "data sheet of retimer or gearbox"),
    "cable": ("2 rate x cable / velocity / 8", "propagation, both ways"),
    "frame that starts": ("lossless_mtu", "it needs credits for all of its cells"),
    "preambles, gaps and phase": (
        "- {overhead} B per frame, and the rest",
        "{overhead_source}",
    ),
    "rounding to credits": ("credits x credit - bytes of frames", "a credit is a whole cell"),
}
ETHERNET = "preamble and gap, of Ethernet IEEE 802.3 3.2, 4.4.2"


@dataclass(frozen=True)
class CreditedLink(PausedLink):
    """A link under credits, with an overhead per frame that may differ from Ethernet.

    Parameters
    ----------
    overhead
        Bytes on the line beside each frame that are not stored.
    """

    overhead: int = OVERHEAD // 8

    shortest_frame: ClassVar[int] = 1
    """Fibre Channel and InfiniBand have frames of less than 64 bytes."""

    def _check_cell(self) -> None:
        """Replace the cell by its value as an int: a byte, a flit, a cell, or the buffer of a frame."""
        self._store_integer("cell", 1, LARGEST_FRAME)


@dataclass(frozen=True, repr=False, eq=False)
class RequiredCredits(Result):
    """The credits of a link, as `credits` returns them.

    Parameters
    ----------
    link
        Frames, cells and delays; ``pipeline`` is the time of receiver and sender to process a credit.
    delays
        Bit times by cause, from the start of a frame until its credits are used again, without the frame's own bits.
    credit_given
        Whether a credit is a cell; otherwise it is a byte.
    stored
        Whether the receiver stores a frame before it forwards it.

    Examples
    --------
    >>> from dfcmodel.lossless import credits
    >>> required = credits("400Gbps", "300m", credit=192)
    >>> required.bytes == sum(item.bytes[1] for item in required.items)
    True
    """

    link: CreditedLink
    delays: dict[str, int]
    credit_given: bool
    stored: bool

    @cached_property
    def burst(self) -> Burst:
        """Largest number of credits in use from the start of a frame until its credits return, as frames."""
        return largest_drain(self.link, sum(self.delays.values()) - 8 * self.link.overhead)

    @property
    def credits(self) -> int:
        """Minimum number of credits with which the sender never waits, for all frame sizes and phases."""
        return self.burst.cells + self.link.cells_of(self.link.lossless_mtu)

    @property
    def least(self) -> int:
        """Minimum number of credits with which every frame can be sent; any number prevents loss."""
        return self.link.cells_of(self.link.lossless_mtu)

    @property
    def bytes(self) -> int:
        """Bytes of buffer for these credits, with which nothing is lost at full rate."""
        return self.credits * self.link.cell

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Components of the credits in bytes, which add up to `bytes`."""
        size = float(self.link.lossless_mtu)
        parts = {name: bits / 8 for name, bits in self.delays.items()}
        parts["frame that leaves"] = parts.pop("forwarding") + size
        parts["frame that starts"] = size
        frames = float(self.burst.frame_bytes) + size
        parts["preambles, gaps and phase"] = frames - sum(parts.values())
        parts["rounding to credits"] = self.bytes - frames
        cell = self.link.cell
        words: dict[str, int | str] = {
            "preamble": preamble_of(8 * self.link.overhead) // 8, "overhead": self.link.overhead,
            "overhead_source": ETHERNET if self.link.overhead == OVERHEAD // 8 else "overhead given for each frame",
        }  # fmt: skip
        return tuple(
            Item(
                name, SOURCES[name][0].format(**words), SOURCES[name][1].format(**words), (parts[name], parts[name]),
                (parts[name] / cell, parts[name] / cell) if cell > 1 else None, parts[name] / self.bytes,
            )
            for name in SOURCES
            if name in parts
        )  # fmt: skip

    def witness(self) -> CreditWitness:
        """Return two runs of the same frames: with these credits no frame waits, with one fewer a frame waits."""
        sizes = [size for size, _ in self.burst.runs]
        frames = np.repeat(np.array(sizes), [count for _, count in self.burst.runs])
        frames = np.concatenate([[self.link.lossless_mtu], frames]).astype(np.int64)
        one_way = self.link.cable + self.link.gearbox
        overhead = 8 * self.link.overhead
        preamble = preamble_of(overhead)
        stored = self.delays.get("frame received before it is forwarded", preamble)
        forwarding = stored - 8 * self.link.lossless_mtu * self.stored + one_way
        returning = sum(self.delays.values()) - stored - one_way - preamble
        scenario = CreditScenario(frames, self.link.cell, self.credits, forwarding, self.stored, returning, overhead)
        return CreditWitness.of(scenario)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain data, for JSON."""
        return {
            "bytes": self.bytes, "credits": self.credits if self.credit_given else None,
            "least": self.least if self.credit_given else None,
            "items": [dataclasses.asdict(item) for item in self.items],
            "link": dataclasses.asdict(self.link), "delays": self.delays,
        }  # fmt: skip

    def summary(self) -> dict[str, object]:
        """Return texts by name: bytes and credits for zero loss at full rate, and their components."""
        count = f" ({self.credits:,} credits of {self.link.cell} B)" if self.credit_given else ""
        rows: dict[str, object] = {"zero loss and full rate": f"{self.bytes:,} B{count}"}
        for item in self.items:
            if item.bytes[1]:
                rows[item.name] = f"{item.bytes[1]:,.0f} B, {item.share:.1%} ({item.source})"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw the components as bars; return the Axes."""
        ax = figure(7.2, 3.6)[1] if ax is None else ax
        items = [item for item in reversed(self.items) if item.bytes[1]]
        ax.barh([item.name for item in items], [item.bytes[1] / 1e3 for item in items])
        ax.set(xlabel="kB of buffer", title=f"credits: {self.bytes:,} B")
        return ax


@takes_options(CreditDatasheet, "datasheet")
@declares(rate="bit_rate", cable="length", mtu="size", lossless_mtu="size", credit="size", small_packets="share")
def credits(
    rate: Given,
    cable: Given,
    mtu: Given = 9216,
    lossless_mtu: Given | None = None,
    credit: Given | None = None,
    *,
    small_packets: float = 0.0,
    datasheet: CreditDatasheet | None = None,
) -> RequiredCredits:
    """Return the minimum credits of a link for zero loss and a sender at line rate that never waits.

    InfiniBand, Fibre Channel, CBFC of Ultra Ethernet and NVLink are of this kind. They differ in the parameters: the
    size of a credit, the message that returns it, whether it waits behind a frame, and the overhead of each frame on
    the line, by default that of Ethernet. ``rate`` is the rate of the bytes: 850 Mb/s for 1.0625 GBd of an 8b/10b code.

    Parameters
    ----------
    rate, cable
        Strings such as ``400Gbps`` and ``300m``.
    mtu
        Bytes of the largest frame that the receiver sends to the sender.
    lossless_mtu
        Bytes of the largest frame under credits; None: ``mtu``.
    credit
        Bytes of a credit: a cell of the receiver's buffer, a flit (16 B of NVLink and PCI Express), or the buffer of a
        whole frame (2148 B of Fibre Channel, whatever the frame). None counts bytes.
    small_packets
        0: all frames have ``lossless_mtu`` bytes; 1: any size of at least ``smallest``; between: a cap per window.
    datasheet
        Delays, smallest frame, message and overhead, see `CreditDatasheet`; None: Ethernet's without delays.

    Raises
    ------
    TypeError
        For an unknown keyword.
    ValueError
        For a rate, length, time, frame size or share outside its range.

    Examples
    --------
    >>> from dfcmodel import headroom
    >>> from dfcmodel.lossless import credits
    >>> pause = headroom("400Gbps", "300m", 9216, 4096, 192)
    >>> credits("400Gbps", "300m", 9216, 4096, 192).bytes, pause.bytes + pause.xon_bytes
    (173184, 455232)
    """
    sheet = CreditDatasheet.of(datasheet, "datasheet")
    bits = bit_rate("rate", rate)
    overhead = sheet.overhead
    preamble = preamble_of(8 * overhead)
    largest, largest_lossless, size = frames_and_cell(mtu, lossless_mtu, credit, "credit")
    stored = not sheet.cut_through
    speed = velocity("velocity", sheet.velocity)  # type: ignore[arg-type]
    small_share = one_number(
        "small_packets", in_units("small_packets", small_packets, "share"), at_least=0.0, at_most=1.0
    )
    pipeline, interface, gearbox = (bit_times(name, delay, bits) for name, delay in sheet.delays.items())
    link = CreditedLink(
        bits, largest, largest_lossless, size, small_share,
        cable=bit_times("cable", metres("cable", cable) / speed, bits), interface=interface, gearbox=gearbox,
        pipeline=pipeline, smallest=sheet.smallest, overhead=overhead,
    )  # fmt: skip
    delays = {
        "frame received before it is forwarded": preamble + 8 * largest_lossless * stored,
        "forwarding": preamble,
        "frame leaving the receiver": 8 * (largest + overhead) * sheet.behind_frame,
        "credit message": 8 * sheet.message,
        "waiting for the next message": bit_times("update", sheet.update, bits),
        "pipeline": link.pipeline, "interface": link.interface,
        "gearbox": 2 * link.gearbox, "cable": 2 * link.cable,
    }  # fmt: skip
    return RequiredCredits(link, delays, credit is not None, stored)
