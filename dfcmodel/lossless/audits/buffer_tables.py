"""Rows of headroom tables and measured peaks: rate, cable and bytes above the pause threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hopflow.checks import flag, instance, instances, integer, one_number

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["BufferRow", "BufferTable", "Watermark", "bytes_from_pool"]


@dataclass(frozen=True)
class BufferRow:
    """A row of a headroom table: rate, b/s, cable, m, xoff, bytes, and other columns of the file.

    Parameters
    ----------
    rate
        Line rate in b/s.
    cable
        Length of the cable in m.
    xoff
        Bytes above the pause threshold.
    xon, size
        Resume threshold and reserved size in bytes; None where the table has none.
    place
        Position of the row in its file: a line, the name of a profile, or a port and its class.
    profile, port, priority
        The profile with the values, the port that uses it, and its class; empty and None if unknown.
    no_headroom
        Reason why a class with PFC has no headroom; empty for a class with headroom.
    pool, pool_size
        The pool of headroom that the row shares with others, and its bytes; empty and None: the row shares none. The
        bytes that ``size`` reserves above ``xon`` are not taken from the pool (`drawn`).
    remarks
        Further statements of the file about the row.
    active
        Whether the port is up. Ports that are down take nothing from the pool.

    Raises
    ------
    ValueError
        Naming the field, its value and the allowed values.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow
    >>> BufferRow(100e9, 300.0, 300_962).xoff
    300962
    """

    rate: float
    cable: float
    xoff: int
    xon: int | None = None
    size: int | None = None
    place: str = ""
    profile: str = ""
    port: str = ""
    priority: int | None = None
    no_headroom: str = ""
    pool: str = ""
    pool_size: int | None = None
    remarks: tuple[str, ...] = ()
    active: bool = True

    def __post_init__(self) -> None:
        _check(self, "xoff")
        flag("active", self.active)
        for name in ("xon", "size", "pool_size"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, integer(name, getattr(self, name), 0, 10**12, why="bytes"))
        for name in ("place", "profile", "port", "no_headroom", "pool"):
            instance(name, getattr(self, name), str, "a text")
        if self.pool_size is not None and not self.pool:
            raise ValueError(f"pool = '': must be the name of the pool that has pool_size = {self.pool_size}")
        if self.priority is not None:
            integer("priority", self.priority, 0, 7, why="a class of traffic")
        object.__setattr__(self, "remarks", instances("remarks", self.remarks, str, "a text"))

    @property
    def drawn(self) -> int:
        """Bytes of xoff that the row takes from its pool: see `bytes_from_pool`."""
        return bytes_from_pool(self.xoff, self.xon, self.size)


def bytes_from_pool(xoff: int, xon: int | None, size: int | None) -> int:
    """Return the bytes that a class takes from the headroom of its pool: xoff less the bytes reserved above xon.

    A profile reserves all of its headroom with a size of xon + xoff, and none with a size of xon. If xon is 0 or
    missing, as for Broadcom's chips, a size below xoff is the guaranteed minimum, which is full before headroom is
    used.

    >>> bytes_from_pool(34816, 19456, 19456), bytes_from_pool(34816, 19456, 54272), bytes_from_pool(393192, 0, 18796)
    (34816, 0, 393192)
    """
    reserved = (size or 0) - (xon or 0)
    if not xon and reserved < xoff:
        return xoff
    return min(xoff, max(0, xoff - reserved))


@dataclass(frozen=True, eq=False)
class BufferTable:
    """The rows of a headroom table, its source and its skipped profiles.

    Parameters
    ----------
    rows
        Rows of the table, at least one.
    source
        Name of the file.
    skipped
        Pairs of a profile that is no row of headroom and the reason.

    Raises
    ------
    TypeError, ValueError
        For a table without rows, with other objects among them, or with two sizes of a pool.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow
    >>> from dfcmodel.lossless import BufferTable
    >>> table = BufferTable((BufferRow(100e9, 40.0, 51_200), BufferRow(100e9, 5.0, 44_032)))
    >>> table.at(100e9, 40.0).xoff
    51200
    """

    rows: tuple[BufferRow, ...]
    source: str = "table"
    skipped: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        instance("source", self.source, str, "a text")
        pairs = instances("skipped", self.skipped, tuple, "a pair (name, reason)")
        object.__setattr__(self, "skipped", pairs)
        object.__setattr__(self, "rows", instances("rows", self.rows, BufferRow))
        if not self.rows:
            reasons = "; ".join(f"{name}: {reason}" for name, reason in self.skipped[:3])
            hint = f" ({reasons})" if reasons else ""
            raise ValueError(f"{self.source}: must have at least one row with an xoff{hint}")
        sizes: dict[str, int] = {}
        for row in self.rows:
            if row.pool_size is not None and sizes.setdefault(row.pool, row.pool_size) != row.pool_size:
                allowed = f"{sizes[row.pool]:,}, as in another row of pool {row.pool!r}"
                raise ValueError(f"{self.source}: pool_size = {row.pool_size:,}: must be {allowed}")

    @property
    def rates(self) -> list[float]:
        """Distinct rates of the rows in b/s, ascending."""
        return sorted({row.rate for row in self.rows})

    def of_rate(self, rate: float) -> list[BufferRow]:
        """Return the rows of a rate in b/s, sorted by length of the cable."""
        return sorted((row for row in self.rows if row.rate == rate), key=lambda row: row.cable)

    def at(self, rate: float, cable: float) -> BufferRow:
        """Return the first row of a rate in b/s and a cable in m; KeyError if there is none.

        Raises
        ------
        KeyError
            Where the table has no such row.
        """
        for row in self.rows:
            if row.rate == rate and row.cable == cable:
                return row
        raise KeyError(f"{self.source}: no row for {rate / 1e9:g} Gb/s and {cable:g} m")

    def __iter__(self) -> Iterator[BufferRow]:
        return iter(self.rows)


@dataclass(frozen=True)
class Watermark:
    """A measured peak of a port's buffer above a threshold, bytes, at a rate, b/s, and a cable, m.

    Parameters
    ----------
    rate, cable
        Line rate in b/s, and length of the cable in m, as for `BufferRow`.
    peak
        Largest measured number of bytes above the threshold.

    Raises
    ------
    ValueError
        As `BufferRow` does.

    Examples
    --------
    >>> from dfcmodel.lossless import Watermark
    >>> Watermark(100e9, 300.0, 74_112).peak
    74112
    """

    rate: float
    cable: float
    peak: int

    def __post_init__(self) -> None:
        _check(self, "peak")


def _check(row: BufferRow | Watermark, amount: str) -> None:
    """Validate rate, cable and the bytes ``amount`` of a row, and store them as plain numbers in place."""
    rate = one_number("rate", row.rate, at_least=1e6, at_most=1e13, hint="in b/s")
    cable = one_number("cable", row.cable, at_least=0.0, at_most=200e3, hint="in m")
    over = integer(amount, getattr(row, amount), 0, 10**12, why="bytes")
    for name, value in (("rate", rate), ("cable", cable), (amount, over)):
        object.__setattr__(row, name, value)
