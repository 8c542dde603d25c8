"""The audit of a table as lines of text for a terminal."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from dfcmodel.lossless.audits.verdicts import Verdict

if TYPE_CHECKING:
    from dfcmodel.lossless.audits.audits import RowAudit, TableAudit

__all__ = ["audit_text"]

HEADING = ("rate", "cable", "xoff", "write", "verdict", "why")


def audit_text(audit: TableAudit) -> str:
    """Return the counts of verdicts, the law of the table, and a line per row, in columns."""
    counts = Counter(each.verdict for each in audit.rows)
    verdicts = ", ".join(
        f"{counts[verdict]} {verdict.value}" for verdict in Verdict if counts[verdict]
    )
    lines = [f"{audit.table.source}: {len(audit.rows)} rows: {verdicts}"]
    cell = (
        f"{audit.cell} B" if audit.cell else "not known, bytes are counted (give --cell or --chip)"
    )
    lines.append(f"cell: {cell}")
    if audit.law is not None:
        lines.append(
            "xoff follows the proved headroom for any sizes of frames, plus a constant by rate:"
        )
        lines += [f"  {text}" for text in law_lines(audit)]
    cells = [HEADING, *(row_cells(each) for each in audit.rows)]
    widths = [max(len(row[n]) for row in cells) for n in range(len(HEADING) - 1)]
    for row in cells:
        numbers = "  ".join(text.rjust(width) for text, width in zip(row[:4], widths, strict=False))
        lines.append(f"{numbers}  {row[4].ljust(widths[4])}  {row[5]}")
    lines += [f"skipped {name}: {why}" for name, why in audit.table.skipped]
    return "\n".join(lines)


def law_lines(audit: TableAudit) -> list[str]:
    """Return a line per rate with the constant of the law."""
    assert audit.law is not None
    lines = []
    for each in audit.law.rates:
        shared = "".join(f", also {rate / 1e9:g}G" for rate in each.shared)
        low, high = each.cells
        cells = f"{low:.0f}" if high - low < 0.5 else f"{low:.0f} to {high:.0f}"
        first, last = (1e9 * end for end in each.allowance)
        within = "" if each.exact else " (within one cell)"
        lines.append(
            f"{each.rate / 1e9:g}G{shared}: {cells} cells, {first:.1f} to {last:.1f} ns{within}"
        )
    return lines


def row_cells(each: RowAudit) -> tuple[str, ...]:
    """Return the columns of a row."""
    row = each.row
    write = "" if each.write is None else f"{each.write:,}"
    why = "; ".join((each.reason, *each.remarks))
    return (
        f"{row.rate / 1e9:g}G",
        f"{row.cable:g}m",
        f"{row.xoff:,}",
        write,
        each.verdict.value,
        why,
    )
