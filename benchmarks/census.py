"""``python -m benchmarks.census``: audit of the public tables of headroom, and what they show of chips.

The tables are the distinct ``pg_profile_lookup.ini`` of a commit of sonic-net/sonic-buildimage (links left out); their rows are
bundled in ``data/sonic_rows.csv``. Writes ``results/census.md`` and ``results/census.json``, the tables of the documentation,
and the constants of chips in ``dfcmodel/lossless/audits/chips``. ``--checkout FOLDER`` takes the tables of a clone of that
repository, and bundles them in place of those before; ``--hash even`` and ``--hash odd`` take the tables whose blob hash is even
or odd.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
import time
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Annotated

import typer

from dfcmodel.lossless import BufferRow, BufferTable, audit_headroom, identify
from dfcmodel.lossless.audits.audits import TableAudit
from dfcmodel.lossless.audits.orders import falling_pairs, flat_rates
from dfcmodel.lossless.audits.profiles import fill
from dfcmodel.lossless.audits.table_files import FORMATS
from dfcmodel.lossless.audits.verdicts import RowVerdict
from hopflow.text_files import write_rows

RESULTS = Path(__file__).parent / "results"
DATA = Path(__file__).parent / "data"
CHIPS = Path(__file__).parent.parent / "dfcmodel" / "lossless" / "audits" / "chips"
REPOSITORY, LICENCE = "sonic-net/sonic-buildimage", "Apache-2.0"
NAME = "pg_profile_lookup.ini"
FARTHEST = 100e3
"""Metres: rows of longer cables are of deep-buffer chips and are counted apart."""
TABLES_OF_CHIPS = {
    "tomahawk2": ("DellEMC-Z9264f",),
    "tomahawk4": ("DellEMC-Z9664f",),
    "tomahawk5": ("Dell-Z9864f", "M2-W6940-128QC"),
    "tomahawk6": ("NH-4210-F-O256",),
    "trident4": ("DellEMC-S5448f",),
}
"""Chips by parts of the paths of their tables; the chip is that of the configuration files beside them."""


@dataclass(frozen=True)
class Blob:
    """A table with its provenance."""

    hash: str
    path: str
    table: BufferTable

    @property
    def name(self) -> str:
        """The platform's and the switch's folder."""
        return "/".join(self.path.split("/")[2:-1])


@dataclass(frozen=True)
class Census:
    """The tables of a commit, by hash, and the paths of those without rows."""

    commit: str
    date: str
    blobs: tuple[Blob, ...]
    empty: tuple[str, ...]

    def of(self, digits: str) -> Census:
        """Return the tables whose hash ends in one of some digits."""
        return replace(self, blobs=tuple(each for each in self.blobs if each.hash[-1] in digits))


def git(checkout: Path, *arguments: str) -> str:
    """Return the output of git in a checkout."""
    call = ("git", "-C", str(checkout), *arguments)
    return subprocess.run(call, check=True, capture_output=True, text=True).stdout


def read_checkout(checkout: Path) -> Census:
    """Return the distinct tables of the commit of a checkout."""
    commit, date = git(checkout, "log", "-1", "--format=%H %cs").split()
    paths: dict[str, str] = {}
    for line in git(checkout, "ls-tree", "-r", "HEAD").splitlines():
        mode, _, digest, path = line.split(maxsplit=3)
        if path.endswith(NAME) and mode != "120000":
            paths[digest] = min(path, paths.get(digest, path))
    blobs, empty = [], []
    for digest, path in sorted(paths.items()):
        drafts, _ = FORMATS["lookup"](git(checkout, "cat-file", "blob", digest))
        rows, _ = fill(drafts, (None, None))
        if rows:
            blobs.append(Blob(digest, path, BufferTable(tuple(rows), path)))
        else:
            empty.append(path)
    return Census(commit, date, tuple(blobs), tuple(empty))


def write_bundle(census: Census, folder: Path = DATA) -> None:
    """Write the tables and their rows as two CSV files, whose first line has repository, commit, date and licence."""
    origin = f"{NAME} in {REPOSITORY}, commit {census.commit}, {census.date}, {LICENCE}"
    folder.mkdir(exist_ok=True)
    tables = [(n, blob.hash, blob.path) for n, blob in enumerate(census.blobs)]
    empty = [("", "", path) for path in census.empty]
    names = "table", "blob", "path"
    write_rows(folder / "sonic_tables.csv", names, [*tables, *empty], origin)
    rows = (
        (n, round(row.rate / 1e6), f"{row.cable:g}m", row.size, row.xon, row.xoff, row.place)
        for n, blob in enumerate(census.blobs)
        for row in blob.table
    )
    names_of_rows = "table", "speed", "cable", "size", "xon", "xoff", "place"
    write_rows(folder / "sonic_rows.csv", names_of_rows, rows, origin)


def read_bundle(folder: Path = DATA) -> Census:
    """Return the bundled tables."""
    rows: dict[str, list[BufferRow]] = {}
    with (folder / "sonic_rows.csv").open(newline="") as file:
        next(file)
        for each in csv.DictReader(file):
            row = BufferRow(
                float(each["speed"]) * 1e6, float(each["cable"].removesuffix("m")), int(each["xoff"]),
                int(each["xon"]), int(each["size"]), each["place"],
            )  # fmt: skip
            rows.setdefault(each["table"], []).append(row)
    with (folder / "sonic_tables.csv").open(newline="") as file:
        found = re.search(r"commit (\w+), ([\d-]+)", next(file))
        if found is None:
            raise ValueError(f"{file.name}: its first line must name commit and date")
        tables = list(csv.DictReader(file))
    blobs = tuple(
        Blob(each["blob"], each["path"], BufferTable(tuple(rows[each["table"]]), each["path"]))
        for each in tables
        if each["table"]
    )
    empty = tuple(each["path"] for each in tables if not each["table"])
    return Census(found[1], found[2], blobs, empty)


def near(audit: TableAudit) -> list[int]:
    """Return the rows of cables up to 100 km, by number."""
    return [n for n, each in enumerate(audit.rows) if each.row.cable < FARTHEST]


def coverage(audits: list[tuple[Blob, TableAudit]]) -> dict[str, list[int]]:
    """Return how many rows `identify` predicts from the others of their rate, and from the other rates, of how many."""
    found = [identify(blob.table) for blob, _ in audits]
    pairs = {
        "by the others of their rate": [each.coverage for each in found],
        "by the other rates": [each.rate_coverage for each in found],
    }
    return {name: [sum(each) for each in zip(*rows, strict=True)] for name, rows in pairs.items()}


def count(audits: list[tuple[Blob, TableAudit]]) -> dict[str, object]:
    """Return the numbers of the census."""
    verdicts = Counter(a.rows[n].verdict for _, a in audits for n in near(a))
    short = (RowVerdict.IMPOSSIBLE, RowVerdict.BELOW_STANDARD)
    falls = {b.name: len(falling_pairs(b.table)) for b, _ in audits if falling_pairs(b.table)}
    return {
        "tables": len(audits),
        "rows": sum(len(a.rows) for _, a in audits),
        "rows judged": sum(len(near(a)) for _, a in audits),
        "verdicts": {verdict.value: verdicts[verdict] for verdict in RowVerdict if verdict is not RowVerdict.NAME_DISAGREES},
        "below cable and response": sum(verdicts[each] for each in short),
        "below the worst case of a conforming peer": sum(verdicts[each] for each in (*short, RowVerdict.FASTER_PEER)),
        "tables that follow a law": sum(a.law is not None for _, a in audits),
        "falling pairs": falls,
        "rows predicted": coverage(audits),
        "flat rates": sum(len(flat_rates(b.table)) for b, _ in audits),
        "impossible": {
            b.name: [f"{e.row.rate / 1e9:g}G {e.row.cable:g}m {e.row.xoff:,} B: {e.reason}" for e in a.impossible]
            for b, a in audits if a.impossible
        },
    }  # fmt: skip


def tables(audits: list[tuple[Blob, TableAudit]], found: dict[str, object], commit: str, date: str) -> str:
    """Return the census as Markdown."""
    lines = [
        f"{found['tables']} tables, {found['rows']} rows of {REPOSITORY} at commit {commit[:9]} ({date}).",
        "",
    ]
    lines += ["| verdict | rows |", "|---|---|"]
    lines += [f"| {name} | {n} |" for name, n in found["verdicts"].items()]  # type: ignore[attr-defined]
    lines += [
        "",
        "Tables that follow a law, with the constant of each rate in cells and in ns:",
        "",
        "| table | cell | constants | rows that do not follow it, or are not whole cells |",
        "|---|---|---|---|",
    ]
    for blob, audit in audits:
        if audit.law is not None:
            lines.append(_law_line(blob, audit))
    lines += [
        "",
        "Rows that hold less than the bytes on the cable (5 ns/m, both ways):",
        "",
        "| table | row | xoff, B | of the cable |",
        "|---|---|---|---|",
    ]
    for blob, audit in audits:
        for each in audit.impossible:
            row = each.row
            lines.append(
                f"| {blob.name} | {row.rate / 1e9:g}G, {row.cable:g} m | {row.xoff:,} | {row.xoff / each.needs.cable:.2f} |"
            )
    lines += [
        "",
        "Rows that `identify` predicts, each left out in turn, at rates whose values are on a line:",
        "",
        "| from | rows predicted | of |",
        "|---|---|---|",
    ]
    for name, (hits, tried) in found["rows predicted"].items():  # type: ignore[attr-defined]
        lines.append(f"| {name} | {hits} | {tried} |")
    return "\n".join(lines) + "\n"


def _law_line(blob: Blob, audit: TableAudit) -> str:
    assert audit.law is not None
    constants = "; ".join(
        f"{each.rate / 1e9:g}G {', '.join(f'{c:.4g}' for c in each.constants)} ({1e9 * each.allowance[0]:.0f} to {1e9 * each.allowance[1]:.0f} ns)"
        for each in audit.law.rates
    )
    odd = "; ".join(
        f"{each.row.rate / 1e9:g}G {each.row.cable:g} m: {', '.join(each.remarks)}"
        for each in audit.rows
        if each.row in audit.law.broken or each.row.xoff % audit.law.cell
    )
    return f"| {blob.name} | {audit.law.cell} | {constants} | {odd} |"


def ranges(audits: list[tuple[Blob, TableAudit]]) -> list[dict[str, float]]:
    """Return the least, median and largest xoff of the tables by rate and cable."""
    found: dict[tuple[float, float], list[int]] = {}
    for blob, _ in audits:
        for row in blob.table:
            found.setdefault((row.rate, row.cable), []).append(row.xoff)
    return [
        {"gigabits": rate / 1e9, "metres": cable, "tables": len(x), "least": min(x), "median": round(median(x)), "most": max(x)}
        for (rate, cable), x in sorted(found.items())
        if len(x) > 1
    ]  # fmt: skip


def write_ranges(found: list[dict[str, float]], commit: str, date: str) -> None:
    """Write the range of the tables by rate and cable as CSV beside the chips."""
    about = f"statistics of {NAME} in {REPOSITORY}, commit {commit}, {date}: bytes of xoff"
    rows = (row.values() for row in found)
    write_rows(CHIPS.parent / "census.csv", found[0], rows, about)


def write_chips(audits: list[tuple[Blob, TableAudit]], commit: str, date: str) -> None:
    """Write the cell and the constants of each chip whose tables follow a law."""
    for name, parts in TABLES_OF_CHIPS.items():
        found = [(b, a) for b, a in audits if a.law and any(p in b.path for p in parts)]
        if not found:
            continue
        lines = [f"cell = {found[0][1].law.cell}", ""]  # type: ignore[union-attr]
        for blob, _ in found:
            fields = {
                "table": blob.path,
                "repository": REPOSITORY,
                "commit": commit,
                "date": date,
                "blob": blob.hash,
            }
            lines += ["[[sources]]", *(f'{key} = "{value}"' for key, value in fields.items()), ""]
        rates: dict[float, list[tuple[float, ...]]] = {}
        for _, audit in found:
            for each in audit.law.rates:  # type: ignore[union-attr]
                rates.setdefault(each.rate, []).append((*each.cells, *each.allowance))
        for rate, rows in sorted(rates.items()):
            cells = (min(r[0] for r in rows), max(r[1] for r in rows))
            delays = (min(r[2] for r in rows) * 1e9, max(r[3] for r in rows) * 1e9)
            lines += [
                "[[rates]]",
                f"gigabits = {rate / 1e9:g}",
                f"cells = [{cells[0]:g}, {cells[1]:g}]",
                f"ns = [{delays[0]:.2f}, {delays[1]:.2f}]",
                "",
            ]
        path = CHIPS / f"{name}.toml"
        buffer = path.read_text().partition("[buffer]") if path.exists() else ("", "", "")
        path.write_text("\n".join(lines) + ("\n" if buffer[1] else "") + "".join(buffer[1:]))  # no table has it


def main(
    checkout: Annotated[Path | None, typer.Option(help="Clone of sonic-net/sonic-buildimage.")] = None,
    parity: Annotated[str, typer.Option("--hash", help="even, odd or all")] = "all",
    dry: Annotated[bool, typer.Option(help="Print, and write no results.")] = False,
) -> None:
    """Audit the bundled tables, or those of a checkout, which are bundled then; write tables and chips."""
    digits = {"even": "02468ace", "odd": "13579bdf", "all": "0123456789abcdef"}[parity]
    census = read_bundle() if checkout is None else read_checkout(checkout)
    if checkout is not None and not dry:
        write_bundle(census)
    chosen = census.of(digits)
    begin = time.process_time()
    audits = [(blob, audit_headroom(blob.table)) for blob in chosen.blobs]
    seconds = time.process_time() - begin
    found = count(audits)
    text = tables(audits, found, census.commit, census.date)
    typer.echo(text if dry else "")
    typer.echo(json.dumps(found, indent=1))
    typer.echo(f"{seconds:.2f} s of CPU time; tables without rows: {', '.join(census.empty)}")
    if not dry:
        (RESULTS / "census.md").write_text(text)
        record = {"commit": census.commit, "date": census.date, **found}
        (RESULTS / "census.json").write_text(json.dumps(record, indent=1) + "\n")
        write_ranges(ranges(audits), census.commit, census.date)
        write_chips(audits, census.commit, census.date)


if __name__ == "__main__":
    typer.run(main)
