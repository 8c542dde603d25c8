"""The verdict on one row of a table of headrooms, and its line in a display."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dfcmodel.lossless.audits.buffer_tables import BufferRow
    from dfcmodel.lossless.audits.row_needs import RowNeeds
    from dfcmodel.lossless.audits.table_laws import TableLaw
    from dfcmodel.lossless.audits.verdicts import RowVerdict

__all__ = ["RowAudit", "law_lines", "rows_text"]

HEADING = ("rate", "cable", "xoff", "write", "verdict", "why")
WHERE = ("place", "profile")


@dataclass(frozen=True)
class RowAudit:
    """The verdict on a row.

    Parameters
    ----------
    row
        The row.
    verdict
        `RowVerdict`.
    reason
        Why, with the numbers.
    needs
        What the row needs under the assumptions, in bytes.
    smallest
        Bytes of the smallest frames that are covered; None where equal frames are not.
    write
        Bytes to write in place of xoff: the proved headroom for any frame size, in bytes where no cell is known;
        None for rows that cover full-size frames without a known cell, and where no response time is known.
    wasted
        Bytes of xoff beyond the proved headroom for any frame size; None where the cell or a response time is not known.
    remarks
        What other rows, the cell or the chip say of this one.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, audit_headroom
    >>> print(audit_headroom([BufferRow(400e9, 2000.0, 555_008)]).rows[0].reason)
    0.56 of the 1,000,000 B on the cable: no peer can stop in time
    """

    row: BufferRow
    verdict: RowVerdict
    reason: str
    needs: RowNeeds
    smallest: int | None
    write: int | None
    wasted: int | None = None
    remarks: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Rate, cable, xoff, value to write, verdict, and why, as text."""
        row = self.row
        write = "" if self.write is None else f"{self.write:,}"
        per = "" if row.port else " per port and class"
        wasted = (f"{self.wasted:,} B wasted{per}",) if self.wasted else ()
        why = "; ".join((self.reason, *wasted, *self.remarks))
        return (
            f"{row.rate / 1e9:g}G",
            f"{row.cable:g}m",
            f"{row.xoff:,}",
            write,
            self.verdict.value,
            why,
        )

    @property
    def where(self) -> tuple[str, str]:
        """The place in the file, and the profile if the place is another one; empty where not known."""
        return self.row.place, "" if self.row.profile == self.row.place else self.row.profile


def rows_text(rows: tuple[RowAudit, ...]) -> str:
    """Return a line per row in columns, below a heading; place and profile come first where any row has them."""
    cells = [WHERE + HEADING, *(each.where + each.columns for each in rows)]
    used = [n for n in range(len(cells[0]) - 1) if any(row[n] for row in cells[1:]) or n >= len(WHERE)]
    widths = {n: max(len(row[n]) for row in cells) for n in used}
    numbers = range(len(WHERE), len(WHERE) + 4)
    lines = []
    for row in cells:
        texts = (row[n].rjust(widths[n]) if n in numbers else row[n].ljust(widths[n]) for n in used)
        lines.append("  ".join((*texts, row[-1])))
    return "\n".join(lines)


def law_lines(law: TableLaw) -> list[str]:
    """Return a line per rate with the constant of the law."""
    lines = []
    for each in law.rates:
        shared = "".join(f", also {rate / 1e9:g}G" for rate in each.shared)
        low, high = each.cells
        cells = f"{low:.0f}" if high - low < 0.5 else f"{low:.0f} to {high:.0f}"
        first, last = (1e9 * end for end in each.allowance)
        within = "" if each.exact else " (within one cell)"
        lines.append(f"{each.rate / 1e9:g}G{shared}: {cells} cells, {first:.1f} to {last:.1f} ns{within}")
    return lines
