"""The audit of a table of headrooms: a verdict per row, with the reason and the value to write."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable
from dfcmodel.lossless.audits.orders import copies, falling_pairs, flat_rates, grain_of
from dfcmodel.lossless.audits.row_audits import RowAudit, law_lines, rows_text
from dfcmodel.lossless.audits.row_needs import Assumptions, covering, needs_of
from dfcmodel.lossless.audits.switch_chips import Chip, chip
from dfcmodel.lossless.audits.table_files import read_table
from dfcmodel.lossless.audits.table_laws import TableLaw, law_of
from dfcmodel.lossless.audits.verdicts import RowVerdict, verdict_of
from dfcmodel.lossless.paused.paused_links import SMALLEST_FRAME
from dfcmodel.lossless.quantities import duration, frames_and_cell
from hopflow.checks import shown
from hopflow.display.results import Result, figure
from hopflow.units import declares

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.lossless.quantities import Given

__all__ = ["TableAudit", "audit_headroom"]


@dataclass(frozen=True, eq=False, repr=False)
class TableAudit(Result):
    """The audit of a table, as `audit_headroom` returns it.

    Attributes
    ----------
    table
        The table.
    rows
        The verdict on each row, in the order of the table.
    law
        The law that the table follows; None where it follows none that is known.
    assumed
        What was assumed of port and peer.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, audit_headroom
    >>> found = audit_headroom([BufferRow(400e9, 2000.0, 555_008), BufferRow(400e9, 5.0, 73_728)])
    >>> [row.verdict.value for row in found.rows]
    ['impossible', 'needs a faster peer']
    """

    table: BufferTable
    rows: tuple[RowAudit, ...]
    law: TableLaw | None
    assumed: Assumptions

    @property
    def cell(self) -> int | None:
        """Bytes of a cell, given or found; None where neither."""
        return self.assumed.cell if self.assumed.cell > 1 else None

    @property
    def impossible(self) -> list[RowAudit]:
        """The rows that hold less than the bytes on the cable."""
        return [each for each in self.rows if each.verdict is RowVerdict.IMPOSSIBLE]

    def to_xarray(self) -> xr.Dataset:
        """Return the rows of the table and their verdicts, over ``row``."""
        import xarray as xr

        rows = self.table.rows
        return xr.Dataset(
            {
                "rate": ("row", [row.rate for row in rows], {"units": "bit/s"}),
                "cable": ("row", [row.cable for row in rows], {"units": "m"}),
                "xoff": ("row", [row.xoff for row in rows], {"units": "bytes"}),
                "verdict": ("row", [row.verdict.value for row in self.rows]),
            }
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the audit as plain data, for JSON."""
        law = None
        if self.law is not None:
            law = {"cell": self.law.cell, "rates": [dataclasses.asdict(r) for r in self.law.rates]}
        return {
            "table": self.table.source, "cell": self.cell, "law": law,
            "assumed": dataclasses.asdict(self.assumed),
            "rows": [{**dataclasses.asdict(each), "verdict": each.verdict.value} for each in self.rows],
            "skipped": [list(each) for each in self.table.skipped],
        }  # fmt: skip

    def text(self) -> str:
        """Return the counts of verdicts, the law of the table, and a line per row, in columns for a terminal."""
        counts = Counter(each.verdict for each in self.rows)
        verdicts = ", ".join(f"{counts[v]} {v.value}" for v in RowVerdict if counts[v])
        cell = (
            f"{self.cell} B" if self.cell else "not known, bytes are counted (give it, or the chip)"
        )
        lines = [f"{self.table.source}: {len(self.rows)} rows: {verdicts}", f"cell: {cell}"]
        if self.law is not None:
            lines.append("xoff is the proved headroom for any frame size, plus a constant by rate:")
            lines += [f"  {text}" for text in law_lines(self.law)]
        lines.append(rows_text(self.rows))
        return "\n".join((*lines, *(f"skipped {name}: {why}" for name, why in self.table.skipped)))

    def summary(self) -> dict[str, object]:
        """Return the counts of verdicts, the law, and a line per row."""
        counts = Counter(each.verdict for each in self.rows)
        rows: dict[str, object] = {"table": self.table.source, "rows": len(self.rows)}
        rows |= {verdict.value: counts[verdict] for verdict in RowVerdict if counts[verdict]}
        rows["cell"] = f"{self.cell} B" if self.cell else "not known: bytes are counted"
        if self.law is not None:
            rows["constants"] = "; ".join(law_lines(self.law))
        for n, audit in enumerate(self.rows):
            rate, cable, xoff, _, verdict, why = audit.columns
            name = f"{rate} {cable}"
            rows[f"{name} ({n})" if name in rows else name] = f"{xoff} B, {verdict}: {why}"
        return rows | {name: f"skipped: {why}" for name, why in self.table.skipped}

    def plot(self, ax: Any = None) -> Any:
        """Draw xoff over the bytes on the cable, by verdict; return the Axes."""
        axes = figure()[1] if ax is None else ax
        for verdict in RowVerdict:
            found = [each for each in self.rows if each.verdict is verdict]
            if found:
                wire = [max(each.needs.cable, 1.0) / 1e3 for each in found]
                axes.plot(wire, [each.row.xoff / 1e3 for each in found], ".", label=verdict.value)
        ends = [max(each.needs.cable, 1.0) / 1e3 for each in self.rows]
        axes.plot([min(ends), max(ends)], [min(ends), max(ends)], color="#000000", lw=0.8)
        axes.set(
            xscale="log", yscale="log", xlabel="kB on the cable, both ways", ylabel="kB of xoff"
        )
        axes.legend()
        return axes


@declares(cell="size", mtu="size", lossless_mtu="size", response="time")
def audit_headroom(
    table: BufferTable | Iterable[BufferRow] | str | Path,
    *,
    chip: str | Chip | None = None,
    cell: Given | None = None,
    mtu: Given = 9216,
    lossless_mtu: Given | None = None,
    response: Given | None = None,
) -> TableAudit:
    """Return a verdict on each row of a table of headrooms, with reason and value to write, and the table's law.

    Parameters
    ----------
    table
        Rows, or a file that `read_table` reads.
    chip
        Name of a chip (`chips`): its cell and its constants are used, and rows that differ from them are named.
    cell
        Bytes of a buffer cell. None: the chip's, or the one that the values show; otherwise bytes are counted.
    mtu, lossless_mtu
        Bytes of the largest frame of any class, and of the paused class (None: ``mtu``).
    response
        Response time of the peer; None: the maximum of IEEE 802.3 31B.3.7 at each rate.

    Raises
    ------
    ValueError
        Naming the parameter or the place in the file, the value, and what is allowed.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, audit_headroom
    >>> rows = [BufferRow(400e9, cable, xoff) for cable, xoff in ((5.0, 393_192), (300.0, 839_216))]
    >>> found = audit_headroom(rows)
    >>> found.cell, found.rows[1].reason
    (254, '1.26 times what arbitrary frame sizes need')
    """
    if isinstance(table, (str, Path)):
        table = read_table(table)
    elif not isinstance(table, BufferTable):
        table = BufferTable(_rows(table))
    known = _chip(chip)
    own = known.cell if cell is None and known is not None else cell
    big, lossless, size = frames_and_cell(mtu, lossless_mtu, own)
    given = size if size > 1 else None
    seconds = None if response is None else duration("response", response)
    assumed = Assumptions(big, lossless, given or 1, response=seconds)
    law = law_of(table, Assumptions(cell=1), given)
    if given is None and law is not None and law.cell <= lossless:
        assumed = dataclasses.replace(assumed, cell=law.cell)
    remarks = _remarks(table, law, known, assumed)
    rows = [_audit(row, assumed, tuple(remarks.get(row, ()))) for row in table]
    return TableAudit(table, tuple(rows), law, assumed)


def _rows(given: Any) -> tuple[BufferRow, ...]:
    rows = tuple(given) if isinstance(given, Iterable) else ()
    if not rows or any(not isinstance(row, BufferRow) for row in rows):
        raise TypeError(f"table = {shown(given)}: must be a BufferTable, rows, or a file")
    return rows


def _chip(given: str | Chip | None) -> Chip | None:
    return given if given is None or isinstance(given, Chip) else chip(given)


def _audit(row: BufferRow, assumed: Assumptions, remarks: tuple[str, ...]) -> RowAudit:
    link = assumed.link(row.rate, row.cable)
    needs = needs_of(link, row.rate, row.cable)
    verdict, reason, smallest = verdict_of(row, needs, link)
    write = None if verdict is RowVerdict.FULL_SIZE else needs.any_sizes
    return RowAudit(row, verdict, reason, needs, smallest, write, remarks)


def _remarks(
    table: BufferTable, law: TableLaw | None, known: Chip | None, assumed: Assumptions
) -> dict[BufferRow, list[str]]:
    """Return what other rows, the cell and the chip say of rows."""
    found: dict[BufferRow, list[str]] = {}
    for a, b in falling_pairs(table):
        less = f"less than {a.rate / 1e9:g}G {a.cable:g}m has, {a.xoff:,} B"
        found.setdefault(b, []).append(less)
    for row, rate in copies(table).items():
        found.setdefault(row, []).append(f"the value of {rate / 1e9:g}G")
    for rate in flat_rates(table):
        for row in table.of_rate(rate):
            found.setdefault(row, []).append("the same at every cable")
    for row, why in (law.broken if law else {}).items():
        found.setdefault(row, []).append(why)
    unit = assumed.cell if assumed.cell > 1 else grain_of(table)
    for row in table if unit else ():
        if unit and (over := row.xoff % unit):
            what = "whole cells" if assumed.cell > 1 else "a multiple, as most values are,"
            found.setdefault(row, []).append(f"not {what} of {unit} B: {over} B over")
    if known is not None:
        for row in table:
            if (said := _differs(row, known)) is not None:
                found.setdefault(row, []).append(said)
    return found


def _differs(row: BufferRow, known: Chip) -> str | None:
    """Return how a row differs from its chip's constant by more than one cell; None if it does not."""
    rate = known.at(row.rate)
    link = Assumptions(cell=known.cell).link(row.rate, row.cable)
    if rate is None or link is None:
        return None
    extra = (row.xoff - covering(link, SMALLEST_FRAME)) / known.cell
    if rate.cells[0] - 1.0 <= extra <= rate.cells[1] + 1.0:
        return None
    return f"{extra - rate.cells[0]:+,.0f} cells from {known.name}"
