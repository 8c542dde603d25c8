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

MOST_GROUPS = 65_536


@dataclass(frozen=True, eq=False, repr=False)
class HeadroomPool(Described):
    """A headroom pool shared by P ports of K lossless classes each, as `headroom_pool` returns it.

    A *priority group* is one class of one port. Its arrivals are charged to the shared buffer until it
    reaches its threshold; it then pauses its sender, and what still arrives is charged to the pool.

    Parameters
    ----------
    size
        Bytes of the pool.
    shared
        Bytes of the buffer below the thresholds, B, shared by all groups.
    rates
        Line rate of each port in b/s, shape (P,).
    headroom
        Most bytes that arrive above the threshold of each group, shape (P, K).
    xoff
        Fixed threshold of each group in bytes, shape (P, K), or None.
    alpha
        Dynamic threshold: alpha times the free bytes of the shared buffer, shape (P, K), or None
        (A. K. Choudhury and E. L. Hahne, IEEE/ACM Transactions on Networking 6(2), 1998).

    Raises
    ------
    ValueError
        For sizes that are not positive, shapes that do not agree, and ``xoff`` and ``alpha`` both or neither given.

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
        """Check all parameters, and make thresholds arrays of the shape of ``headroom``."""
        for name in ("size", "shared"):
            object.__setattr__(self, name, one_number(name, getattr(self, name), above=0.0, hint="in bytes"))
        rates = number("rates", self.rates, at_least=1e6, at_most=1e13, hint="in b/s")
        held = number("headroom", self.headroom, above=0.0, hint="in bytes")
        if held.ndim != 2 or held.shape[0] != rates.size or rates.ndim != 1:
            raise ValueError(f"headroom has shape {held.shape}: must be (ports, classes), with one rate per port")
        integer("groups", held.size, 1, MOST_GROUPS)
        if (self.xoff is None) == (self.alpha is None):
            raise ValueError("xoff, alpha: exactly one of them must be given")
        given = {"rates": rates, "headroom": held}
        for name, low in (("xoff", 0.0), ("alpha", None)):
            value = getattr(self, name)
            if value is not None:
                above = 0.0 if low is None else None
                array = number(name, value, above=above, at_least=low)
                given[name] = spread_over_groups(name, array, held.shape)
        for name, array in given.items():
            array.setflags(write=False)
            object.__setattr__(self, name, array)

    @property
    def groups(self) -> int:
        """Number of priority groups: ports times classes."""
        return self.headroom.size

    @property
    def demand(self) -> float:
        """Bytes that all groups need together if each fills its headroom."""
        return float(self.headroom.sum())

    @property
    def oversubscription(self) -> float:
        """All headrooms over the size of the pool; above 1 the pool can be too small."""
        return self.demand / self.size

    def summary(self) -> dict[str, object]:
        """Return the rows of the pool's table, by name."""
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
        Bytes above the threshold of a group, broadcast to shape (ports, classes), or one string; or what
        `headroom` found, of a range the high end. Its rate is then that of the ports, and its number of classes the
        default and the most.
    ports, classes
        Number of ports, and of lossless classes per port (1 to 8).
    size
        Of the pool: bytes, or a string such as ``4 MiB``.
    shared
        Of the buffer below the thresholds, which all groups share: bytes, or a string.
    xoff
        Fixed thresholds in bytes, broadcast to shape (ports, classes), or one string.
    alpha
        Factor of dynamic thresholds instead, broadcast as ``xoff``; switches offer powers of two.
    rate
        Line rate, a string such as ``400Gbps``, or a list of one per port.

    Raises
    ------
    ValueError
        For a number of ports or classes, a rate or a headroom that is missing or outside its range, and for a rate or more
        classes than those of a `Headroom`.

    Examples
    --------
    >>> from dfcmodel import headroom
    >>> from dfcmodel.lossless import headroom_pool
    >>> port = headroom("400Gbps", "300m", cell=192, classes=2)
    >>> pool = headroom_pool(port, 64, size="16 MB", shared="60 MB", alpha=0.125)
    >>> pool.groups, round(pool.oversubscription, 3)
    (128, 1.808)
    """
    ports = integer("ports", ports, 1, MOST_GROUPS)
    if isinstance(headroom, Headroom):
        found = headroom.bytes
        held: ArrayLike = found[1] if isinstance(found, tuple) else found
        link = headroom.high
        classes = link.classes if classes is None else integer("classes", classes, 1, 8)
        if classes > link.classes and not link.merged:
            msg = f"the headroom is that of {count_of(link.classes, 'class', 'classes')}, whose pause frames wait for each other"
            raise ValueError(f"classes = {classes}: {msg}: write headroom(..., classes={classes})")
        rate = f"{link.rate} bps" if rate is None else rate
        if any(bit_rate("rate", each) != link.rate for each in (rate if isinstance(rate, list) else [rate])):
            raise ValueError(
                f"rate = {format_value(rate)}: the headroom is that of {link.rate / 1e9:g} Gb/s: leave rate out"
            )
    else:
        held = size_in_bytes("headroom", headroom) if isinstance(headroom, str) else headroom
    if classes is None:
        raise ValueError("classes = None: must be given, 1 to 8")
    classes = integer("classes", classes, 1, 8)
    if rate is None:
        raise ValueError("rate = None: must be given, such as '400Gbps'")
    given = rate if isinstance(rate, list) else [rate] * ports
    if len(given) != ports:
        raise ValueError(f"rate has {count_of(len(given), 'entry', 'entries')}: must be one, or one per port ({ports})")
    shape = (ports, classes)
    if isinstance(xoff, str):
        xoff = size_in_bytes("xoff", xoff)
    return HeadroomPool(
        size_in_bytes("size", size),
        size_in_bytes("shared", shared),
        np.array([bit_rate("rate", each) for each in given], dtype=np.float64),
        spread_over_groups("headroom", number("headroom", held, above=0.0, hint="in bytes"), shape),
        None if xoff is None else spread_over_groups("xoff", number("xoff", xoff, at_least=0.0), shape),
        None if alpha is None else spread_over_groups("alpha", number("alpha", alpha, above=0.0), shape),
    )


def spread_over_groups(name: str, array: Floats, shape: tuple[int, ...]) -> Floats:
    """Return an array in the shape (ports, classes) of a pool."""
    try:
        return np.array(np.broadcast_to(array, shape))
    except ValueError:
        msg = f"{name} has shape {array.shape}: must broadcast to (ports, classes) = {shape}"
        raise ValueError(msg) from None


def _span(values: Floats, unit: str) -> str:
    """Return the range of some values as text; one number where they are equal."""
    low, high = (f"{value:,.10g}" for value in (values.min(), values.max()))
    return f"{low} {unit}" if low == high else f"{low} to {high} {unit}"
