"""``python -m benchmarks shipped``: conformance suites on congestion control that ships in QUIC stacks.

Stacks come from source packages of the registries that this machine reaches, by their ordinary clients. A release is
known by its SHA-256 (``stacks.toml``, and ``crates.csv`` for the dependencies of crates); any other one is not run. Sources are
unpacked in a temporary folder, compiled with an adapter (``ngtcp2_adapter.c``, ``quinn_adapter.rs``), and never kept.
``results.csv`` has a row per release, algorithm and suite, with the date of its run; rows that are not made again stay.
``witness.csv`` has what whole connections of quinn-proto say about its rows (``--connections``).
"""

from __future__ import annotations

import csv
import datetime as dt
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.shipped.builds import BUILDS, STACKS, NotRunError, Unit, build_connection, build_crate, units_of
from benchmarks.shipped.connections import Comparison, compare
from dfcmodel import NativeRule, conformance
from dfcmodel.sharing.suites.index import SUITES as suites_by_name

__all__ = ["RESULTS", "WITNESS", "main"]

RESULTS, WITNESS = (Path(__file__).with_name(name) for name in ("results.csv", "witness.csv"))
SUITES = tuple(name for name in suites_by_name if name != "rfc9743")
"""Suites that take minutes for all stacks together; ``rfc9743`` takes minutes for each."""


class Row(NamedTuple):
    """The verdicts of a suite on an algorithm of a release; ``cases`` names those that did not pass."""

    stack: str
    release: str
    sha256: str
    algorithm: str
    suite: str
    verdicts: str
    failed: str
    not_judged: str
    date: str

    @property
    def key(self) -> tuple[str, ...]:
        """What a later run replaces."""
        return self.stack, self.release, self.algorithm, self.suite.partition("@")[0]


def judge(unit: Unit, library: Path, suites: list[str]) -> Iterator[Row]:
    """Yield a row per suite that applies to an algorithm."""
    result: Any = conformance(NativeRule(library), suite=suites)
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    for judged in result.suites:
        if judged.applies:
            cases: dict[str, list[str]] = {verdict: [] for verdict in ("failed", "not judged", "undecided")}
            for verdict in judged.verdicts:
                cases.setdefault(verdict.verdict, []).append(verdict.case.id)
            texts = " ".join(cases["failed"]), " ".join(cases["not judged"] + cases["undecided"])
            yield Row(
                unit.stack,
                unit.release,
                unit.sha256[:12],
                unit.algorithm,
                judged.suite.label,
                judged.headline,
                *texts,
                today,
            )


def read_rows() -> dict[tuple[str, ...], Row]:
    """Return the rows of the table of verdicts by key."""
    return {row.key: row for row in (Row(*row) for row in read_table(RESULTS))}


def read_table(path: Path) -> list[list[str]]:
    """Return the rows of a table, without the names of its columns."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def write_table(path: Path, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Write a table in the order of stacks, releases and algorithms."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(sorted(rows))


def compare_connections(stack: str, release: str, units: list[Unit], folder: Path) -> Iterator[str]:
    """Compare adapters with whole connections of a release, write ``witness.csv``, and yield lines about it."""
    build = build_crate(stack, release, folder)
    program = build_connection(folder)
    for unit in units:
        rows = list(compare(unit, build(unit), program))
        others = [row for row in read_table(WITNESS) if (row[1], row[3]) != (release, unit.algorithm)]
        write_table(WITNESS, Comparison._fields, [*map(tuple, others), *rows])
        yield from (f"{stack} {release} {unit.algorithm}, {row.case}: {row.witness}" for row in rows)


def main(
    stacks: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(STACKS)}; all by default.")] = None,
    suites: Annotated[str, typer.Option(help="Suites by commas.")] = ",".join(SUITES),
    release: Annotated[str | None, typer.Option(help="One release alone.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="One algorithm alone, such as cubic.")] = None,
    connections: Annotated[
        bool,
        typer.Option("--connections", help="Compare the adapters of quinn-proto with its whole connections instead."),
    ] = False,
) -> None:
    """Judge shipped congestion control, write the table, and print which rows were made and which could not be."""
    for stack in stacks or ():
        if stack not in STACKS:
            raise typer.BadParameter(f"{stack!r}: must be one of {', '.join(STACKS)}")
    rows, made, problems = read_rows(), set(), []
    for stack in stacks or STACKS:
        for name in STACKS[stack]["releases"]:
            units = [unit for unit in units_of(stack, name) if algorithm in (None, unit.algorithm)]
            if release not in (None, name) or not units or (connections and STACKS[stack]["kind"] != "crate"):
                continue
            with tempfile.TemporaryDirectory(prefix="hopflow-shipped-") as folder:
                try:
                    if connections:
                        for line in compare_connections(stack, name, units, Path(folder)):
                            typer.echo(line)
                        continue
                    build = BUILDS[STACKS[stack]["kind"]](stack, name, Path(folder))
                    for unit in units:
                        for row in judge(unit, build(unit), suites.split(",")):
                            rows[row.key] = row
                            made.add(row.key)
                            typer.echo(f"{row.stack} {row.release} {row.algorithm}, {row.suite}: {row.verdicts}")
                        write_table(RESULTS, Row._fields, rows.values())
                except NotRunError as error:
                    problems.append(f"{stack} {name} could not be run: {error}")
    kept = [] if connections else sorted(set(rows) - made)
    if not connections:
        typer.echo(f"made again: {len(made)} rows; kept: {len(kept)} rows")
    for line in (*(" ".join(key) + f", of {rows[key].date}" for key in kept), *problems):
        typer.echo(line)
    raise typer.Exit(1 if problems else 0)
