"""The audit of a table of headrooms: a verdict per row, with the reason and the value to write."""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dfcmodel.lossless.audits.buffer_tables import BufferRow, BufferTable
from dfcmodel.lossless.audits.orders import (
    copies,
    divisor_of,
    equal_cables,
    falling_pairs,
    flat_rates,
    grain_of,
)
from dfcmodel.lossless.audits.profiles import port_from_name
from dfcmodel.lossless.audits.row_audits import RowAudit, law_lines, rows_text
from dfcmodel.lossless.audits.row_needs import Assumptions, RowNeeds, covering, needs_of
from dfcmodel.lossless.audits.switch_chips import Chip, chip, chips
from dfcmodel.lossless.audits.table_files import read_table
from dfcmodel.lossless.audits.table_laws import TableLaw, law_of
from dfcmodel.lossless.audits.verdicts import INSUFFICIENT, RowVerdict, verdict_of
from dfcmodel.lossless.quantities import SMALLEST_FRAME, duration, frames_and_cell
from hopflow.checks import file_path, format_value
from hopflow.results import Result, figure, names_beside
from hopflow.units import declares

if TYPE_CHECKING:
    import xarray as xr

    from dfcmodel.lossless.quantities import Given

__all__ = ["TableAudit", "audit_headroom"]

Key = tuple[float, float, int]
"""Rate, cable and xoff of a row; -1 without headroom."""


@dataclass(frozen=True, eq=False, repr=False)
class TableAudit(Result):
    """The audit of a table of headroom settings (xoff), row by row, as `audit_headroom` returns it.

    Attributes
    ----------
    table
        The table.
    rows
        The verdict on each row, in the order of the table.
    law
        The law of the table; None if it follows no known law.
    assumed
        Assumptions about port and peer.
    cell_source
        Source of the cell: ``given``, ``law``, ``divisor`` (all values are multiples of it), or empty: unknown.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, audit_headroom
    >>> result = audit_headroom([BufferRow(400e9, 2000.0, 555_008), BufferRow(400e9, 5.0, 73_728)])
    >>> [row.verdict.value for row in result.rows]
    ['impossible', 'needs a faster peer']
    """

    table: BufferTable
    rows: tuple[RowAudit, ...]
    law: TableLaw | None
    assumed: Assumptions
    cell_source: str = ""

    @property
    def cell(self) -> int | None:
        """Bytes of a cell, as given or as proposed from the table; None if unknown."""
        return self.assumed.cell if self.assumed.cell > 1 else None

    @property
    def impossible(self) -> list[RowAudit]:
        """Rows with fewer bytes than full-size frames on the cable occupy, and classes with PFC but no headroom."""
        return [audit for audit in self.rows if audit.verdict is RowVerdict.IMPOSSIBLE]

    @property
    def insufficient(self) -> list[RowAudit]:
        """Rows that may not cover the standard's response time, have a wrong name or shared pool, or are not judged."""
        others = (RowVerdict.NAME_DISAGREES, RowVerdict.SHARED_POOL, RowVerdict.NOT_JUDGED)
        return [audit for audit in self.rows if audit.verdict in (*INSUFFICIENT, *others)]

    @property
    def wasted(self) -> dict[str, int]:
        """Bytes reserved beyond the proved headroom for any frame size, by port; {} without ports or a cell."""
        ports: dict[str, int] = {}
        for audit in self.rows:
            if audit.row.port and audit.wasted is not None:
                ports[audit.row.port] = ports.get(audit.row.port, 0) + audit.wasted
        return ports

    def to_xarray(self) -> xr.Dataset:
        """Return rate, cable and xoff of the rows with their verdicts, over ``row``."""
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
            "table": self.table.source, "cell": self.cell, "cell_source": self.cell_source, "law": law,
            "assumed": dataclasses.asdict(self.assumed),
            "rows": [{**dataclasses.asdict(audit), "verdict": audit.verdict.value} for audit in self.rows],
            "wasted": {"ports": self.wasted, "switch": sum(self.wasted.values())} if self.wasted else None,
            "skipped": [list(pair) for pair in self.table.skipped],
        }  # fmt: skip

    def text(self) -> str:
        """Return a string for a terminal: counts of verdicts, the law, and a line per row in columns."""
        counts = Counter(audit.verdict for audit in self.rows)
        verdicts = ", ".join(f"{counts[v]} {v.value}" for v in RowVerdict if counts[v])
        rows = f"{len(self.rows)} row{'s' * (len(self.rows) != 1)}"
        lines = [f"{self.table.source}: {rows}: {verdicts}", f"cell: {self._cell_text()}"]
        if self.law is not None:
            lines.append("xoff is the proved headroom for any frame size, plus a constant by rate:")
            lines += [f"  {text}" for text in law_lines(self.law)]
        lines.append(rows_text(self.rows))
        if self.wasted:
            by_amount: dict[int, list[str]] = {}
            for port, amount in self.wasted.items():
                by_amount.setdefault(amount, []).append(port)
            lines += [f"wasted per port: {n:,} B at {', '.join(ports)}" for n, ports in by_amount.items() if n]
            lines.append(f"wasted by the switch: {sum(self.wasted.values()):,} B")
        return "\n".join((*lines, *(f"skipped {name}: {reason}" for name, reason in self.table.skipped)))

    def _cell_text(self) -> str:
        """Return the cell and where it comes from as a string."""
        if self.cell_source == "divisor":
            return f"{self.cell} B, proposed: every xoff is a multiple (give another, or the chip)"
        if self.cell:
            return f"{self.cell} B"
        divisor = divisor_of(BufferTable(_distinct(self.table))) if _distinct(self.table) else None
        hint = f"; every xoff is a multiple of {divisor} B" if divisor and divisor >= 64 else ""
        return f"not known, bytes are counted (give it, or the chip){hint}"

    def summary(self) -> dict[str, object]:
        """Return the source, counts of verdicts (numbers), and as texts cell, law and each row's verdict, by name."""
        counts = Counter(audit.verdict for audit in self.rows)
        rows: dict[str, object] = {"table": self.table.source, "rows": len(self.rows)}
        rows |= {verdict.value: counts[verdict] for verdict in RowVerdict if counts[verdict]}
        rows["cell"] = self._cell_text()
        if self.law is not None:
            rows["constants"] = "; ".join(law_lines(self.law))
        for n, audit in enumerate(self.rows):
            rate, cable, xoff, _, verdict, reason = audit.columns
            name = " ".join((*audit.where, rate, cable)).strip()
            rows[f"{name} ({n})" if name in rows else name] = f"{xoff} B, {verdict}: {reason}"
        if self.wasted:
            rows["wasted by the switch"] = f"{sum(self.wasted.values()):,} B"
        for name, reason in self.table.skipped:
            rows[names_beside([name], rows, "skipped")[name]] = f"skipped: {reason}"
        return rows

    def plot(self, ax: Any = None) -> Any:
        """Draw xoff over the bytes on the cable, by verdict, the worst on top; return the Axes.

        The axes are logarithmic and cover full decades. Rows without xoff are triangles at the lower edge.
        """
        from matplotlib.ticker import NullFormatter

        axes = figure()[1] if ax is None else ax
        wires = [max(audit.needs.cable, 1.0) / 1e3 for audit in self.rows]
        amounts = [audit.row.xoff / 1e3 for audit in self.rows]
        left, right = _decades(wires)
        bottom, top = _decades([*wires, *(amount for amount in amounts if amount)])
        for n, verdict in enumerate(RowVerdict):
            for empty, marker in ((False, "o"), (True, "v")):
                points = [
                    (wire, bottom if empty else amount)
                    for audit, wire, amount in zip(self.rows, wires, amounts, strict=True)
                    if audit.verdict is verdict and (amount == 0.0) is empty
                ]
                if points:
                    axes.plot(
                        *zip(*points, strict=True), marker, ms=4, color=f"C{n}", clip_on=False, zorder=20 - n,
                        label=verdict.value + (", no xoff" if empty else ""),
                    )  # fmt: skip
        axes.plot([left, right], [left, right], color="#000000", lw=0.8, label="bytes on the cable")
        axes.set(
            xscale="log", yscale="log", xlim=(left, right), ylim=(bottom, top),
            xlabel="kB on the cable, both ways", ylabel="kB of xoff",
        )  # fmt: skip
        for axis in (axes.xaxis, axes.yaxis):
            axis.set_minor_formatter(NullFormatter())
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
    """Return verdicts on the rows of a table of headrooms, with reasons and recommended values, and the table's law.

    Parameters
    ----------
    table
        Rows, or a file that `read_table` reads.
    chip
        Name of a chip (`chips`): its cell and its constants are used, and rows that differ from them are named.
    cell
        Bytes of a buffer cell, equal to the chip's if ``chip`` is given. None: the cell of the chip, or of the law of
        the values, or the common divisor of all values (the cell of a chip, or 64 to 1024 bytes that are no power of
        two and no multiple of ten, which may be units of a calculator); otherwise bytes are counted.
    mtu
        Bytes of the largest frame of any class.
    lossless_mtu
        Bytes of the largest frame of the paused class; None: ``mtu``.
    response
        Response time of the peer; None: the maximum of IEEE 802.3 31B.3.7 at each rate.

    Raises
    ------
    ValueError
        Naming the parameter or the position in the file, the value, and the allowed values.

    Examples
    --------
    >>> from dfcmodel.lossless import BufferRow, audit_headroom
    >>> rows = [BufferRow(400e9, cable, xoff) for cable, xoff in ((5.0, 393_192), (300.0, 839_216))]
    >>> result = audit_headroom(rows)
    >>> result.cell, result.rows[1].reason
    (254, '1.26 times what arbitrary frame sizes need')
    """
    if isinstance(table, (str, Path)):
        table = read_table(file_path("table", table))
    elif not isinstance(table, BufferTable):
        table = BufferTable(_rows(table))
    chip_data = _chip(chip)
    chosen_cell = chip_data.cell if cell is None and chip_data is not None else cell
    mtu_bytes, lossless, size = frames_and_cell(mtu, lossless_mtu, chosen_cell)
    if chip_data is not None and size != chip_data.cell:
        raise ValueError(
            f"cell = {format_value(cell)}: {chip_data.name} has cells of {chip_data.cell} B: "
            "leave out one of cell and chip"
        )
    cell_size = size if size > 1 else None
    seconds = None if response is None else duration("response", response)
    assumed = Assumptions(mtu_bytes, lossless, cell_size or 1, response=seconds)
    distinct = _distinct(table)
    law = law_of(BufferTable(distinct), Assumptions(cell=1), cell_size) if distinct else None
    source = "given" if cell_size else ""
    if cell_size is None and distinct:
        table_cell = law.cell if law is not None else _propose_cell(BufferTable(distinct))
        if table_cell is not None and table_cell <= lossless:
            assumed = dataclasses.replace(assumed, cell=table_cell)
            source = "divisor" if law is None else "law"
    remarks = _remarks(BufferTable(distinct), law, chip_data, assumed) if distinct else {}
    by_key: dict[Key, RowAudit] = {}
    rows = []
    for row in table:
        if row.no_headroom or _key(row) not in by_key:
            by_key[_key(row)] = _judge(row, assumed)
        audit = _audit(row, by_key[_key(row)], remarks.get(_key(row), ()))
        rows.append(dataclasses.replace(audit, wasted=_excess_bytes(row, audit.needs, assumed)))
    return TableAudit(table, tuple(_in_pools(rows, assumed)), law, assumed, source)


def _in_pools(rows: list[RowAudit], assumed: Assumptions) -> list[RowAudit]:
    """Return the audits, with new verdicts on rows that share a pool of headroom.

    A row has at most the bytes of the pool and the bytes that its size reserves. The classes of ports that share the
    pool are covered at the same time if the sum of their demands on it fits. The demand of a class is its proved
    headroom, for any frame size where the cell is known, and at most its xoff, less the bytes that its size reserves.
    Ports that are down have no demand. A profile may be used by any number of classes.
    """
    demands: dict[tuple[str, int], list[int]] = {}
    for audit in rows:
        row = audit.row
        if row.pool_size is not None and row.port and row.active and row.drawn and not row.no_headroom:
            proved = audit.needs.any_sizes if assumed.cell > 1 else audit.needs.equal_frames
            need = row.xoff if proved is None else min(row.xoff, proved)
            demands.setdefault((row.pool, row.pool_size), []).append(max(0, need - (row.xoff - row.drawn)))
    result = []
    for audit in rows:
        row, pool_size = audit.row, audit.row.pool_size
        if pool_size is None or not row.drawn or row.no_headroom:
            result.append(audit)
            continue
        pool_demands = demands.get((row.pool, pool_size), []) if row.port and row.active else []
        if row.drawn > pool_size:
            reserved = row.xoff - row.drawn
            limited = dataclasses.replace(row, xoff=reserved + pool_size)
            pool_audit = _audit(row, _judge(limited, assumed), audit.remarks)
            reserved_text = f", its size reserves {reserved:,} B" if reserved else ""
            reason = f"{row.pool} has {pool_size:,} B in all{reserved_text}: {pool_audit.reason}"
            audit = dataclasses.replace(pool_audit, reason=reason, wasted=audit.wasted, remarks=audit.remarks)
        if not row.port:
            remark = f"every class that uses it shares {pool_size:,} B of {row.pool}"
            audit = dataclasses.replace(audit, remarks=(*audit.remarks, remark))
        if sum(pool_demands) > pool_size and audit.verdict not in (*INSUFFICIENT, RowVerdict.NOT_JUDGED):
            reason = (
                f"{row.pool} has {pool_size:,} B for {len(pool_demands)} rows that need {sum(pool_demands):,} B "
                f"at the same time; {audit.verdict.value}: {audit.reason}"
            )
            audit = dataclasses.replace(audit, verdict=RowVerdict.SHARED_POOL, reason=reason)
        result.append(audit)
    return result


def _key(row: BufferRow) -> Key:
    """Return (rate, cable, xoff) of a row, -1 without headroom, by which equal rows share remarks."""
    return row.rate, row.cable, -1 if row.no_headroom else row.xoff


def _distinct(table: BufferTable) -> tuple[BufferRow, ...]:
    """Return one row for each rate, cable and xoff; rows without headroom are omitted."""
    return tuple({_key(row): row for row in table if not row.no_headroom}.values())


def _propose_cell(table: BufferTable) -> int | None:
    """Return a cell in bytes that divides all values, a chip's if possible; None without a plausible one."""
    divisor = divisor_of(table)
    if divisor is None:
        return None
    chip_cells = [model.cell for model in chips() if divisor % model.cell == 0]
    if chip_cells:
        return max(chip_cells)
    is_unit = divisor % 10 == 0 or divisor & (divisor - 1) == 0
    return divisor if 64 <= divisor <= 1024 and not is_unit else None


def _decades(values: list[float]) -> tuple[float, float]:
    """Return the powers of ten below and above all values, at least one decade apart, as limits of an axis."""
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return 10.0**low, 10.0 ** max(high, low + 1)


def _rows(value: Any) -> tuple[BufferRow, ...]:
    """Return an iterable of rows as a tuple; TypeError for other values and without rows."""
    rows = tuple(value) if isinstance(value, Iterable) else ()
    if not rows or any(not isinstance(row, BufferRow) for row in rows):
        raise TypeError(f"table = {format_value(value)}: must be a BufferTable, rows, or a file")
    return rows


def _chip(name_or_chip: str | Chip | None) -> Chip | None:
    """Return the chip of this name; a `Chip` and None are returned unchanged."""
    return name_or_chip if name_or_chip is None or isinstance(name_or_chip, Chip) else chip(name_or_chip)


def _judge(row: BufferRow, assumed: Assumptions) -> RowAudit:
    """Return the audit of a row by its rate, cable and xoff alone, without the other rows and the profile's name."""
    link = assumed.link(row.rate, row.cable)
    needs = needs_of(assumed, row.rate, row.cable)
    verdict, reason, smallest = verdict_of(row, needs, link)
    write = None if verdict is RowVerdict.FULL_SIZE else needs.any_sizes
    return RowAudit(row, verdict, reason, needs, smallest, write)


def _excess_bytes(row: BufferRow, needs: RowNeeds, assumed: Assumptions) -> int | None:
    """Return the reserved bytes beyond the proved headroom for any frame size; None if that is unknown.

    Bytes taken from a pool are a limit, not a reservation. Where the table has xon and size, these give the
    reservation even if the pool is unknown.
    """
    if assumed.cell == 1 or needs.any_sizes is None:
        return None
    shares = row.pool_size is not None or (row.xon and row.size is not None)
    return max(0, row.xoff - (row.drawn if shares else 0) - needs.any_sizes)


def _audit(row: BufferRow, judged: RowAudit, remarks: Iterable[str]) -> RowAudit:
    """Return the audit of a row with its remarks and, if its profile's name disagrees, with that verdict."""
    verdict, reason = judged.verdict, judged.reason
    row_remarks = list(row.remarks)
    name_port = port_from_name(row.profile)
    if name_port is not None and name_port != (row.rate, row.cable):
        port_text = f"{row.port or row.place} has {row.rate / 1e9:g}G {row.cable:g}m"
        disagreement = f"the name is for {name_port[0] / 1e9:g}G {name_port[1]:g}m, {port_text}"
        if verdict in INSUFFICIENT:
            row_remarks.append(f"{RowVerdict.NAME_DISAGREES.value}: {disagreement}")
        else:
            verdict, reason = (
                RowVerdict.NAME_DISAGREES,
                f"{disagreement}; {verdict.value}: {reason}",
            )
    return dataclasses.replace(judged, row=row, verdict=verdict, reason=reason, remarks=(*row_remarks, *remarks))


def _remarks(
    table: BufferTable, law: TableLaw | None, chip_data: Chip | None, assumed: Assumptions
) -> dict[Key, list[str]]:
    """Return remarks on rows by `_key`, from comparisons with the other rows, the cell and the chip."""
    by_key: dict[Key, list[str]] = {}

    def add(row: BufferRow, remark: str) -> None:
        remarks = by_key.setdefault(_key(row), [])
        if remark not in remarks:
            remarks.append(remark)

    for a, b in falling_pairs(table):
        add(b, f"less than {a.rate / 1e9:g}G {a.cable:g}m has, {a.xoff:,} B")
    for row, rate in copies(table).items():
        add(row, f"the value of {rate / 1e9:g}G")
    for row, cables in equal_cables(table).items():
        add(row, f"a copy: also the value of {', '.join(f'{cable:g}m' for cable in cables)}")
    for rate in flat_rates(table):
        for row in table.of_rate(rate):
            add(row, "the same at every cable")
    for row, reason in (law.broken if law else {}).items():
        add(row, reason)
    unit = assumed.cell if assumed.cell > 1 else grain_of(table)
    for row in table if unit else ():
        if unit and (over := row.xoff % unit):
            kind = "whole cells" if assumed.cell > 1 else "a multiple, as most values are,"
            add(row, f"not {kind} of {unit} B: {over} B over")
    if chip_data is not None:
        for row in table:
            if (difference := _chip_difference(row, chip_data)) is not None:
                add(row, difference)
    return by_key


def _chip_difference(row: BufferRow, chip_data: Chip) -> str | None:
    """Return the difference of a row from its chip's constant as a string; None if unknown or within a cell."""
    rate = chip_data.at(row.rate)
    link = Assumptions(cell=chip_data.cell).link(row.rate, row.cable)
    if rate is None or link is None:
        return None
    extra = (row.xoff - covering(link, SMALLEST_FRAME)) / chip_data.cell
    if rate.cells[0] - 1.0 <= extra <= rate.cells[1] + 1.0:
        return None
    return f"{extra - rate.cells[0]:+,.0f} cells from {chip_data.name}"
