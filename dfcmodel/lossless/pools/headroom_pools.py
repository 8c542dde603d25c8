"""Headroom shared by the ports and classes of a switch: the pool, its thresholds and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dfcmodel.lossless.paused.headrooms import Headroom
from dfcmodel.lossless.quantities import Given, bit_rate, size_in_bytes
from hopflow.checks import count_of, format_value, integer, number, one_number
from hopflow.results import Described, table_text
from hopflow.units import declares

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

__all__ = ["HeadroomPool", "headroom_pool"]

ALPHA_HINT = "of SONiC's dynamic_th n it is 2**n"
"""From saibuffer.h of SAI: a dynamic threshold n stands for the factor 2**n."""
MAX_GROUPS = 65_536


@dataclass(frozen=True, eq=False, repr=False)
class HeadroomPool(Described):
    """A headroom pool, bytes, of P ports with K lossless classes each, as `headroom_pool` returns it.

    A *priority group* is one class of one port. Its arrivals are charged to the shared buffer until it
    reaches its threshold; it then pauses its sender, and later arrivals are charged to the pool.

    Parameters
    ----------
    size
        Bytes of the pool.
    shared
        Bytes of the buffer below the thresholds, B, shared by all groups.
    rates
        Line rate of each port in b/s, shape (P,).
    headroom
        Maximum arrivals above the threshold of each group in bytes, shape (P, K).
    xoff
        Fixed threshold of each group in bytes, shape (P, K), or None.
    alpha
        Dynamic threshold: alpha times the free bytes of the shared buffer, shape (P, K), or None
        (A. K. Choudhury and E. L. Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).

    Raises
    ------
    ValueError
        For sizes that are not positive, shapes that do not agree, and for both or neither of ``xoff`` and ``alpha``.

    Examples
    --------
    >>> from dfcmodel.lossless import headroom_pool
    >>> pool = headroom_pool(50_000, 4, 2, size="200 kB", shared="1 MB", alpha=1.0, rate="100Gbps")
    >>> pool.groups, pool.demand, pool.oversubscription
    (8, 400000.0, 2.0)
    """

    size: float
    shared: float
    rates: Floats
    headroom: Floats
    xoff: Floats | None = None
    alpha: Floats | None = None

    def __post_init__(self) -> None:
        """Check all parameters; store numbers and read-only arrays, thresholds with the shape of ``headroom``."""
        for name in ("size", "shared"):
            object.__setattr__(self, name, one_number(name, getattr(self, name), above=0.0, hint="in bytes"))
        rates = number("rates", self.rates, at_least=1e6, at_most=1e13, hint="in b/s")
        headroom = number("headroom", self.headroom, above=0.0, hint="in bytes")
        if headroom.ndim != 2 or headroom.shape[0] != rates.size or rates.ndim != 1:
            raise ValueError(f"headroom has shape {headroom.shape}: must be (ports, classes), with one rate per port")
        integer("groups", headroom.size, 1, MAX_GROUPS)
        if (self.xoff is None) == (self.alpha is None):
            raise ValueError("xoff, alpha: exactly one of them must be given")
        arrays = {"rates": rates, "headroom": headroom}
        for name, low in (("xoff", 0.0), ("alpha", None)):
            value = getattr(self, name)
            if value is not None:
                above = 0.0 if low is None else None
                array = number(name, value, above=above, at_least=low)
                arrays[name] = spread_over_groups(name, array, headroom.shape)
        for name, array in arrays.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def groups(self) -> int:
        """Number of priority groups: ports times classes."""
        return self.headroom.size

    @property
    def demand(self) -> float:
        """Sum of all headrooms in bytes: the demand if every group fills its headroom."""
        return float(self.headroom.sum())

    @property
    def oversubscription(self) -> float:
        """Sum of all headrooms over the size of the pool; above 1 the pool can be too small."""
        return self.demand / self.size

    def summary(self) -> dict[str, object]:
        """Return texts by name: ports, rates, headrooms, the pool's and shared buffer's bytes, thresholds."""
        rows: dict[str, object] = {
            "ports and classes": "{} x {}".format(*self.headroom.shape),
            "line rate": _span(self.rates / 1e9, "Gb/s"),
            "headroom of a group": _span(self.headroom, "B"),
            "pool": f"{self.size:,.0f} B",
            "all headrooms": f"{self.demand:,.0f} B, {self.oversubscription:.2f} times the pool",
            "shared buffer": f"{self.shared:,.0f} B",
        }
        if self.xoff is not None:
            return rows | {"fixed thresholds": _span(self.xoff, "B")}
        assert self.alpha is not None  # exactly one of them is given
        return rows | {"dynamic thresholds": f"alpha {_span(self.alpha, '').strip()}"}

    def __repr__(self) -> str:
        return table_text(type(self).__name__, self.summary())


@declares(headroom="size", size="size", shared="size", xoff="size", rate="bit_rate")
def headroom_pool(
    headroom: Headroom | Given | ArrayLike,
    ports: int,
    classes: int | None = None,
    *,
    size: Given,
    shared: Given,
    xoff: Given | ArrayLike | None = None,
    alpha: ArrayLike | None = None,
    rate: Given | list[Given] | None = None,
) -> HeadroomPool:
    """Return a headroom pool shared by ports and classes.

    Parameters
    ----------
    headroom
        Bytes above the threshold of a group, broadcast to shape (ports, classes), or one string; or a result of
        `headroom`, of a range the high end. The latter determines the rate of the ports, and the default and maximum
        number of classes.
    ports, classes
        Number of ports, and of lossless classes per port (1 to 8).
    size
        Size of the pool: bytes, or a string such as ``4 MiB``.
    shared
        Size of the buffer below the thresholds, which all groups share: bytes, or a string.
    xoff
        Fixed thresholds in bytes, broadcast to shape (ports, classes), or one string.
    alpha
        Factor of dynamic thresholds instead, broadcast as ``xoff``; switches offer powers of two, such as
        2**n for a ``dynamic_th`` of n in SONiC.
    rate
        Line rate, a string such as ``400Gbps``, or a list of one per port.

    Raises
    ------
    ValueError
        For a number of ports or classes, a rate or a headroom that is missing or outside its range, and for a rate or
        more classes than a `Headroom` has.

    Examples
    --------
    >>> from dfcmodel import headroom
    >>> from dfcmodel.lossless import headroom_pool
    >>> port = headroom("400Gbps", "300m", cell=192, classes=2)
    >>> pool = headroom_pool(port, 64, size="16 MB", shared="60 MB", alpha=0.125)
    >>> pool.groups, round(pool.oversubscription, 3)
    (128, 1.808)
    """
    ports = integer("ports", ports, 1, MAX_GROUPS)
    if isinstance(headroom, Headroom):
        size_or_range = headroom.bytes
        group_bytes: ArrayLike = size_or_range[1] if isinstance(size_or_range, tuple) else size_or_range
        link = headroom.high
        classes = link.classes if classes is None else integer("classes", classes, 1, 8)
        if classes > link.classes and not link.merged:
            count = count_of(link.classes, "class", "classes")
            msg = f"the headroom is that of {count}, whose pause frames wait for each other"
            raise ValueError(f"classes = {classes}: {msg}: write headroom(..., classes={classes})")
        rate = f"{link.rate} bps" if rate is None else rate
        if any(bit_rate("rate", value) != link.rate for value in (rate if isinstance(rate, list) else [rate])):
            raise ValueError(
                f"rate = {format_value(rate)}: the headroom is that of {link.rate / 1e9:g} Gb/s: leave rate out"
            )
    else:
        group_bytes = size_in_bytes("headroom", headroom) if isinstance(headroom, str) else headroom
    if classes is None:
        raise ValueError("classes = None: must be given, 1 to 8")
    classes = integer("classes", classes, 1, 8)
    if rate is None:
        raise ValueError("rate = None: must be given, such as '400Gbps'")
    port_rates = rate if isinstance(rate, list) else [rate] * ports
    if len(port_rates) != ports:
        entries = count_of(len(port_rates), "entry", "entries")
        raise ValueError(f"rate has {entries}: must be one, or one per port ({ports})")
    shape = (ports, classes)
    if isinstance(xoff, str):
        xoff = size_in_bytes("xoff", xoff)
    return HeadroomPool(
        size_in_bytes("size", size),
        size_in_bytes("shared", shared),
        np.array([bit_rate("rate", value) for value in port_rates], dtype=np.float64),
        spread_over_groups("headroom", number("headroom", group_bytes, above=0.0, hint="in bytes"), shape),
        None if xoff is None else spread_over_groups("xoff", number("xoff", xoff, at_least=0.0), shape),
        None
        if alpha is None
        else spread_over_groups("alpha", number("alpha", alpha, above=0.0, hint=ALPHA_HINT), shape),
    )


def spread_over_groups(name: str, array: Floats, shape: tuple[int, ...]) -> Floats:
    """Return an array broadcast to the shape (ports, classes) of a pool; ``name`` is for the error message."""
    try:
        return np.array(np.broadcast_to(array, shape))
    except ValueError:
        msg = f"{name} has shape {array.shape}: must broadcast to (ports, classes) = {shape}"
        raise ValueError(msg) from None


def _span(values: Floats, unit: str) -> str:
    """Return the smallest and largest value with the unit as a string; one number if they are equal."""
    low, high = (f"{value:,.10g}" for value in (values.min(), values.max()))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
