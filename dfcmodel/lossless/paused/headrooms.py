"""Headroom: the buffer needed above a pause threshold for zero loss, with its components."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dfcmodel.lossless.datasheets import DELAYS, HEADROOM_UNITS, PauseDatasheet
from dfcmodel.lossless.paused.headroom_items import (
    Item,
    Sensitivity,
    item_rows,
    items_of,
    resume_drain,
    resume_items_of,
    sensitivities_of,
    size_text,
)
from dfcmodel.lossless.paused.paused_links import PausedLink
from dfcmodel.lossless.paused.worst_cases import Burst, largest_burst
from dfcmodel.lossless.quantities import (
    Given,
    Range,
    bit_rate,
    bit_times,
    both_ends,
    frames_and_cell,
    metres,
    response_time,
    velocity,
)
from hopflow.checks import count_of, one_number
from hopflow.deprecations import takes_options
from hopflow.fork_safety import cached_property
from hopflow.results import Result, figure
from hopflow.units import declares, in_units, readable_text

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.lossless.paused.frames import Witness

__all__ = ["Headroom", "headroom"]

CELL = 254
"""Bytes of a cell (of Tomahawk 4 and 5) for the displayed headroom of any frame size, if no cell is given."""


@dataclass(frozen=True, repr=False, eq=False)
class Headroom(Result):
    """The headroom of one traffic class of a port, as `headroom` returns it.

    Parameters
    ----------
    low, high
        The link with all inputs at the low and at the high end of their ranges.
    metres
        Length of the cable at both ends.
    cells_given
        Whether the buffer is allocated in cells; otherwise in bytes.
    ranged
        Names of the inputs that are ranges.
    missing
        Names of the delays without a value, which are 0.

    Examples
    --------
    >>> from dfcmodel import headroom
    >>> port = headroom("400Gbps", "300m", cell=192)
    >>> port.bytes, port.cells
    (225792, 1176)
    """

    low: PausedLink
    high: PausedLink
    metres: tuple[float, float]
    cells_given: bool
    ranged: tuple[str, ...]
    missing: tuple[str, ...] = ()

    @cached_property
    def bursts(self) -> tuple[Burst, Burst]:
        """Largest bursts above the threshold, at the low and at the high end of the inputs."""
        return largest_burst(self.low), largest_burst(self.high)

    @cached_property
    def drains(self) -> tuple[Burst, Burst]:
        """Largest departures from a resume to the first arrival, at the low and at the high end of the inputs."""
        return resume_drain(self.low), resume_drain(self.high)

    @property
    def bytes(self) -> int | tuple[int, int]:
        """Bytes above the pause threshold (xoff) for one class; a pair if inputs are ranges."""
        return self._range(*(burst.cells * self.high.cell for burst in self.bursts))

    @property
    def cells(self) -> int | tuple[int, int] | None:
        """Cells above the pause threshold for one class, as `bytes`; None if bytes are counted."""
        return self._range(*(burst.cells for burst in self.bursts)) if self.cells_given else None

    @property
    def port_bytes(self) -> int | tuple[int, int]:
        """Bytes for all classes of the port, which may cross their thresholds one after the other."""
        return self._range(*(burst.cells * self.high.cell * self.high.classes for burst in self.bursts))

    @property
    def xon_bytes(self) -> int | tuple[int, int]:
        """Smallest resume threshold (xon) in bytes at which a port at line rate is never idle; a pair for ranges."""
        return self._range(*(drain.cells * self.high.cell for drain in self.drains))

    @property
    def xon_cells(self) -> int | tuple[int, int] | None:
        """Smallest resume threshold in cells, as `xon_bytes`; None if bytes are counted."""
        return self._range(*(drain.cells for drain in self.drains)) if self.cells_given else None

    @cached_property
    def items(self) -> tuple[Item, ...]:
        """Components of the headroom, which add up to `bytes`."""
        return items_of((self.low, self.high), self.bursts)

    @cached_property
    def xon_items(self) -> tuple[Item, ...]:
        """Components of the smallest resume threshold, which add up to `xon_bytes`."""
        return resume_items_of((self.low, self.high), self.drains)

    @cached_property
    def sensitivities(self) -> tuple[Sensitivity, ...]:
        """Sensitivity to each input: bytes per unit, and bytes saved over its range."""
        return sensitivities_of(self.low, self.high, self.metres[1])

    def witness(self) -> Witness:
        """Return two scenarios: one fills the headroom, one loses a frame with one cell fewer."""
        from dfcmodel.lossless.paused.frames import witness

        return witness(self.high)

    def to_dict(self) -> dict[str, Any]:
        """Return all results as plain data, for JSON."""
        return {
            "bytes": self.bytes, "cells": self.cells, "port_bytes": self.port_bytes,
            "xon_bytes": self.xon_bytes, "xon_cells": self.xon_cells,
            "items": [dataclasses.asdict(item) for item in self.items],
            "xon_items": [dataclasses.asdict(item) for item in self.xon_items],
            "sensitivities": [dataclasses.asdict(entry) for entry in self.sensitivities],
            "low": dataclasses.asdict(self.low), "high": dataclasses.asdict(self.high),
        }  # fmt: skip

    def to_xarray(self) -> xr.Dataset:
        """Return the thresholds: ``bytes``, ``port_bytes``, ``xon_bytes``, and with a cell ``cells``, ``xon_cells``.

        Ranges have both ends over the dimension ``end``.
        """
        import xarray as xr

        cells = ("cells", "xon_cells") if self.cells_given else ()
        values = {name: getattr(self, name) for name in ("bytes", "port_bytes", "xon_bytes", *cells)}
        ranged = any(isinstance(value, tuple) for value in values.values())
        pairs = {
            name: value if isinstance(value, tuple) or not ranged else (value, value) for name, value in values.items()
        }
        dims = ("end",) if ranged else ()
        units = {name: {"units": "bytes" if "bytes" in name else "cells"} for name in pairs}
        coords = {"end": ["low", "high"]} if ranged else {}
        return xr.Dataset({n: (dims, np.array(v), units[n]) for n, v in pairs.items()}, coords)

    def summary(self) -> dict[str, object]:
        """Return texts by name: the port, both thresholds in bytes (and cells), and their components."""
        rows: dict[str, object] = {
            "port": self._port(),
            "headroom above xoff": size_text(self.bytes, self.cells),
        }
        if self.high.classes > 1:
            rows[f"port, {count_of(self.high.classes, 'class', 'classes')}"] = size_text(self.port_bytes, None)
        rows |= item_rows(self.items, "") | self._assumptions()
        rows["least xon"] = size_text(self.xon_bytes, self.xon_cells)
        return rows | item_rows(self.xon_items, "xon: ")

    def plot(self, ax: Any = None) -> Any:
        """Draw the components of the headroom as bars; return the Axes."""
        ax = figure(7.2, 3.6)[1] if ax is None else ax
        items = [item for item in reversed(self.items) if any(item.bytes)]
        high = [item.bytes[1] / 1e3 for item in items]
        spans = [[abs(item.bytes[1] - item.bytes[0]) / 1e3 for item in items], [0.0] * len(items)]
        ranged = any(spans[0])
        ax.barh([item.name for item in items], high, xerr=spans if ranged else None, color="#0072B2")
        for n, item in enumerate(items):
            ax.text(max(high[n], 0.0), n, f" {item.share:.0%}", va="center", fontsize=8)
        ax.set(xlabel="kB of headroom", title=f"headroom {size_text(self.bytes, self.cells)}")
        ax.margins(x=0.1)
        return ax

    def _assumptions(self) -> dict[str, object]:
        """Return assumed values of inputs that were not given, as strings, by name."""
        rows: dict[str, object] = dict.fromkeys(self.missing, "0 (not given)")
        if not self.cells_given:
            rows["cells"] = "bytes are counted (no cell given)"
        if not self.high.small_packets:
            rows["small frames"] = f"none: all have the largest size (not given); {self._any_size()}"
        return rows

    def _port(self) -> str:
        """Return rate, cable and largest frame of the port as a string."""
        low, high = self.metres
        cable = f"{high:g} m" if low == high else f"{low:g} to {high:g} m"
        frames = f"{self.high.lossless_mtu:,} B"
        if self.high.mtu != self.high.lossless_mtu:
            frames += f", of other classes {self.high.mtu:,} B"
        return f"{readable_text(self.high.rate, 'bit/s')}, {cable}, largest frame {frames}"

    def _any_size(self) -> str:
        """Return a line on the headroom for frames of any size, with the parameters that compute it."""
        cell = self.high.cell if self.cells_given else CELL
        links = (replace(link, cell=cell, small_packets=1.0) for link in (self.low, self.high))
        size = self._range(*(largest_burst(link).cells * cell for link in links))
        arguments = "small_packets=1" if self.cells_given else f'cell="{cell} B", small_packets=1'
        return f"of any size in cells of {cell} B: {size_text(size, None)} ({arguments})"

    def _range(self, low: int, high: int) -> int | tuple[int, int]:
        """Return the pair (low, high) if inputs are ranges, otherwise ``high``."""
        return (low, high) if self.ranged else high


@takes_options(PauseDatasheet, "datasheet")
@declares(rate="bit_rate", cable="length", **HEADROOM_UNITS)
def headroom(
    rate: Given,
    cable: Range,
    mtu: Given = 9216,
    lossless_mtu: Given | None = None,
    cell: Given | None = None,
    *,
    small_packets: float | tuple[float, float] = 0.0,
    classes: int = 1,
    datasheet: PauseDatasheet | None = None,
) -> Headroom:
    """Return the headroom: the bytes needed above a pause threshold for zero loss.

    It is the worst case over all phases and over the frame sizes that ``small_packets`` permits. The page
    "Headroom: proof" has the proof and its assumptions.

    Parameters
    ----------
    rate
        Line rate of the port, a string such as ``400Gbps``.
    cable
        Length of the cable, a string such as ``300m`` or ``2km``, at most 200 km. A pair (low,
        high) is a range and makes the result a pair; the same applies to ``small_packets`` and to ``response``,
        ``interface``, ``gearbox``, ``pipeline`` and ``velocity`` of the datasheet.
    mtu
        Bytes of the largest frame of any class, check sequence included.
    lossless_mtu
        Bytes of the largest frame of the paused class; None: ``mtu``.
    cell
        Bytes of a buffer cell; None counts bytes of frames, without rounding.
    small_packets
        Largest fraction of the frames of any window that is smaller than ``lossless_mtu``: 0, none; 1 or ``"100%"``,
        all. It caps each window. A share of the traffic is exceeded in many windows: see ``exceeded`` of
        `PauseDatasheet`.
    classes
        Number of classes paused separately.
    datasheet
        Delays, smallest frame and response of the port and of its peer, see `PauseDatasheet`; None: no delays, and the
        response of the standard.

    Raises
    ------
    TypeError
        For an unknown keyword.
    ValueError
        For a rate, length, frame size, share or response outside its range.

    Examples
    --------
    >>> port = headroom("400Gbps", "300m", mtu=9216, cell=192)
    >>> port.bytes
    225792
    >>> sum(item.bytes[1] for item in port.items) == port.bytes
    True
    """
    sheet = PauseDatasheet.of(datasheet, "datasheet")
    bits = bit_rate("rate", rate)
    lengths = both_ends("cable", cable, metres)
    speeds = both_ends("velocity", sheet.velocity, velocity)
    trips = [bit_times("cable", m / v, bits) for m, v in zip(lengths, speeds[::-1], strict=True)]
    inputs: dict[str, tuple[float, float] | list[int]] = {
        "cable": trips,
        "response": response_time(bits, sheet.response, measured=sheet.response_measured),
        "small_packets": both_ends("small_packets", small_packets, _share),
    }
    for name, delay in sheet.delays.items():
        inputs[name] = both_ends(name, delay, lambda name, value: bit_times(name, value, bits))
    fixed = {
        "classes": classes, "smallest": sheet.smallest, "exceeded": sheet.exceeded, "merged": sheet.merged,
        "resume_queued": sheet.resume_queued,
    }  # fmt: skip
    sizes = (bits, *frames_and_cell(mtu, lossless_mtu, cell))
    low, high = (
        PausedLink(*sizes, **fixed, **{k: v[n] for k, v in inputs.items()})  # type: ignore[arg-type,misc]
        for n in (0, 1)
    )
    ranged = tuple(name for name, pair in inputs.items() if pair[0] != pair[1])
    missing = tuple(name for name in DELAYS if getattr(sheet, name) is None)
    return Headroom(low, high, lengths, cell is not None, ranged, missing)


def _share(name: str, value: Given) -> float:
    """Return a fraction of the frames, from a number or a string such as ``50%``."""
    share = in_units(name, value, "share")
    return one_number(name, share, at_least=0.0, at_most=1.0, hint="a fraction of the frames")
