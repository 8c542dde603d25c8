"""View: the audit of a switch's headroom table, from the text of its file."""

from __future__ import annotations

from collections import Counter
from io import StringIO
from typing import NamedTuple

import numpy as np

from dfcmodel.lossless import BufferTable, audit_headroom, chips, read_table
from dfcmodel.lossless.paused.published import SN4280
from dfcmodel.lossless.quantities import Given
from dfcmodel.lossless.results import RowVerdict
from hopflow.checks import count_of
from validation.explore.data_sheets import CELLS, MTU, RESPONSE, sizes
from validation.explore.views import Chart, Drawing, Knob, Line, Table, View

EXAMPLE = "\n".join((
    "# speed cable xoff",
    *(f"{rate / 1e6:.0f} {cable:g}m {xoff}" for (rate, cable), xoff in SN4280.items() if rate >= 100e9),
))  # fmt: skip
"""Rows of Mellanox-SN4280-O28 in sonic-buildimage, as `dfcmodel.lossless.paused.published` has them."""
AS_THE_PORT = "as the port's"
"""The text of a largest lossless frame that is not given."""
MAX_ROWS = 2000
HEADING = ("rate", "cable (m)", "xoff (B)", "write (B)", "verdict", "why")
WHERE = ("place", "profile")
"""Further columns for tables of profiles."""


class Pasted(NamedTuple):
    """The text of a table, and its rows."""

    text: str
    table: BufferTable


def _pasted(text: str) -> Pasted:
    """Return a text with its rows."""
    table = read_table(StringIO(text))
    if len(table.rows) > MAX_ROWS:
        raise ValueError(f"Table = {len(table.rows)} rows: must be at most {MAX_ROWS}; use hopflow headroom audit FILE")  # fmt: skip
    return Pasted(text, table)


def _draw(
    table: Pasted, chip: str | None, cell: Given | None, mtu: Given, lossless: Given, response: Given | None
) -> Drawing:  # fmt: skip
    audit = audit_headroom(table.table, chip=chip, cell=cell, mtu=mtu, lossless_mtu=lossless, response=response)
    counts = Counter(each.verdict for each in audit.rows)
    verdicts = ", ".join(f"{counts[each]} {each.value}" for each in RowVerdict if counts[each])
    size = "not known, so that frames fill the buffer byte by byte" if audit.cell is None else f"{audit.cell} B"  # fmt: skip
    finding = f"{count_of(len(audit.rows), 'row')}: {verdicts}. The buffer cell is {size}."
    judged = [each for each in audit.rows if each.needs.any_sizes is not None]
    judged.sort(key=lambda each: (each.needs.any_sizes, each.row.cable))
    needed = np.array([float(each.needs.any_sizes or 0) for each in judged]) / 1e3
    lines = (
        Line("xoff", needed, np.array([max(each.row.xoff, 1.0) for each in judged]) / 1e3, marked=True, joined=False),
        Line("needed", needed, needed),
        Line("on the cable", needed, np.array([max(each.needs.cable, 1.0) for each in judged]) / 1e3, marked=True, joined=False),
    )  # fmt: skip
    has_profiles = any(each.row.profile for each in audit.rows)
    rows = tuple(
        (rate, cable.removesuffix("m"), *others, *(each.where if has_profiles else ()))
        for each in audit.rows
        for rate, cable, *others in (each.columns,)
    )
    heading = HEADING + (WHERE if has_profiles else ())
    title = "Table against proved headroom"
    return Drawing(
        finding,
        (Chart(title, "needed for any frame sizes (kB)", "kB", lines, logarithmic=True),) if judged else (),
        table=Table(heading, rows, numbers=4),
    )  # fmt: skip


def _code(
    table: Pasted, chip: str | None, cell: Given | None, mtu: Given, lossless: Given, response: Given | None
) -> str:  # fmt: skip
    lines = "\n".join(f"    {line!r}," for line in table.text.splitlines())
    return f"""\
from io import StringIO
from dfcmodel.lossless import audit_headroom, read_table

lines = [
{lines}
]
audit = audit_headroom(
    read_table(StringIO("\\n".join(lines))), chip={chip!r}, cell={cell!r}, mtu={mtu!r},
    lossless_mtu={lossless!r}, response={response!r},
)
print(audit.text())  # audit.rows, audit.law
"""


VIEW = View(
    name="audit",
    title="Audit",
    question="Is the headroom table of my switch safe?",
    about=(
        "Each row against the proved headroom of its rate and cable. Paste pg_profile_lookup.ini, buffers.json.j2, config_db.json, or CSV "
        "with the columns speed (Mb/s), cable and xoff (bytes). The value to write covers any frame size. "
        "At first the page shows a public table of one switch."
    ),
    knobs=(
        Knob("table", "Table", {EXAMPLE: _pasted(EXAMPLE)}, EXAMPLE, slider=False, free=_pasted, lines=True),
        Knob("chip", "Chip", {"other": None} | {each.name: each.name for each in chips()}, "other", slider=False),
        sizes("cell", "Buffer cell", CELLS, "the chip's, or not known", without="the chip's, or not known"),
        MTU,
        sizes("lossless", "Largest lossless frame", (1024, 1088, 2200, 4096), AS_THE_PORT, without=AS_THE_PORT),
        RESPONSE,
    ),
    draw=_draw,
    code=_code,
)  # fmt: skip
"""What a table covers."""
