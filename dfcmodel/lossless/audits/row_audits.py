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
    remarks: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Rate, cable, xoff, value to write, verdict, and why, as text."""
        row = self.row
        write = "" if self.write is None else f"{self.write:,}"
        why = "; ".join((self.reason, *self.remarks))
        return (
            f"{row.rate / 1e9:g}G",
            f"{row.cable:g}m",
            f"{row.xoff:,}",
            write,
            self.verdict.value,
            why,
        )


def rows_text(rows: tuple[RowAudit, ...]) -> str:
    """Return a line per row in columns, below a heading."""
    cells = [HEADING, *(each.columns for each in rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(HEADING) - 1)]
    lines = []
    for row in cells:
        numbers = "  ".join(text.rjust(width) for text, width in zip(row[:4], widths, strict=False))
        lines.append(f"{numbers}  {row[4].ljust(widths[4])}  {row[5]}")
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
        lines.append(
            f"{each.rate / 1e9:g}G{shared}: {cells} cells, {first:.1f} to {last:.1f} ns{within}"
        )
    return lines
