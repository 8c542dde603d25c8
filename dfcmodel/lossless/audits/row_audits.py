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
    """The verdict on a row, with the reason, the needs and a recommendation.

    Parameters
    ----------
    row
        The judged row.
    verdict
        The verdict, a `RowVerdict`.
    reason
        Reason of the verdict, with the numbers.
    needs
        Bytes that the row needs under the assumptions.
    smallest
        Bytes of the smallest frames that are covered; None where equal frames are not.
    write
        Recommended xoff in bytes: the proved headroom for any frame size, in bytes if the cell is unknown;
        None for rows that cover full-size frames with an unknown cell, and if no response time is known.
    wasted
        Bytes of xoff beyond the proved headroom for any frame size, without those taken from a shared pool; None if the
        cell or response time is unknown.
    remarks
        Results of comparisons with other rows, the cell and the chip.

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
        """Cells of the row as strings: rate, cable, xoff, recommended xoff, verdict and reason."""
        row = self.row
        write = "" if self.write is None else f"{self.write:,}"
        per = "" if row.port else " per port and class"
        wasted = (f"{self.wasted:,} B wasted{per}",) if self.wasted else ()
        reasons = "; ".join((self.reason, *wasted, *self.remarks))
        return (
            f"{row.rate / 1e9:g}G",
            f"{row.cable:g}m",
            f"{row.xoff:,}",
            write,
            self.verdict.value,
            reasons,
        )

    @property
    def where(self) -> tuple[str, str]:
        """Position of the row in the file, and its profile if that is another name; "" if unknown."""
        return self.row.place, "" if self.row.profile == self.row.place else self.row.profile


def rows_text(rows: tuple[RowAudit, ...]) -> str:
    """Return a table as a string: a heading and a line per row; place and profile come first if any row has them."""
    cells = [WHERE + HEADING, *(audit.where + audit.columns for audit in rows)]
    columns = [n for n in range(len(cells[0]) - 1) if any(row[n] for row in cells[1:]) or n >= len(WHERE)]
    widths = {n: max(len(row[n]) for row in cells) for n in columns}
    numbers = range(len(WHERE), len(WHERE) + 4)
    lines = []
    for row in cells:
        texts = (row[n].rjust(widths[n]) if n in numbers else row[n].ljust(widths[n]) for n in columns)
        lines.append("  ".join((*texts, row[-1])))
    return "\n".join(lines)


def law_lines(law: TableLaw) -> list[str]:
    """Return a line per rate of a law: cells beyond the proved headroom, and the delay, ns, that explains them."""
    lines = []
    for entry in law.rates:
        shared = "".join(f", also {rate / 1e9:g}G" for rate in entry.shared)
        low, high = entry.cells
        cells = f"{low:.0f}" if high - low < 0.5 else f"{low:.0f} to {high:.0f}"
        first, last = (1e9 * end for end in entry.allowance)
        within = "" if entry.exact else " (within one cell)"
        lines.append(f"{entry.rate / 1e9:g}G{shared}: {cells} cells, {first:.1f} to {last:.1f} ns{within}")
    return lines
