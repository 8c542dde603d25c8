"""``python -m benchmarks shipped``: conformance suites on congestion control that ships in QUIC stacks.

Stacks come from source packages of the registries that this machine reaches, by their ordinary clients. A release is
known by its SHA-256 (``stacks.toml``, and ``crates.csv`` for the dependencies of crates); any other one is not run. Sources are
unpacked in a temporary folder, compiled with an adapter (``ngtcp2_adapter.c``, ``quinn_adapter.rs``), and never kept.
``results.csv`` has a row per release, algorithm and suite, with the date of its run; rows that are not made again stay.
"""

from __future__ import annotations

import csv
import datetime as dt
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from benchmarks.shipped.builds import BUILDS, STACKS, NotRunError, Unit, units_of
from dfcmodel import NativeRule, conformance
from dfcmodel.sharing.suites.index import SUITES as suites_by_name

__all__ = ["RESULTS", "main"]

RESULTS = Path(__file__).with_name("results.csv")
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
    """Return the rows of the table by key."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(encoding="utf-8", newline="") as file:
        rows = [Row(*row) for row in list(csv.reader(file))[1:]]
    return {row.key: row for row in rows}


def write_rows(rows: dict[tuple[str, ...], Row]) -> None:
    """Write the table in the order of stacks, releases and algorithms."""
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(Row._fields)
        writer.writerows(sorted(rows.values()))


def main(
    stacks: Annotated[list[str] | None, typer.Argument(help=f"Of {', '.join(STACKS)}; all by default.")] = None,
    suites: Annotated[str, typer.Option(help="Suites by commas.")] = ",".join(SUITES),
    release: Annotated[str | None, typer.Option(help="One release alone.")] = None,
    algorithm: Annotated[str | None, typer.Option(help="One algorithm alone, such as cubic.")] = None,
) -> None:
    """Judge shipped congestion control, write the table, and print which rows were made and which could not be."""
    for stack in stacks or ():
        if stack not in STACKS:
            raise typer.BadParameter(f"{stack!r}: must be one of {', '.join(STACKS)}")
    rows, made, problems = read_rows(), set(), []
    for stack in stacks or STACKS:
        for name in STACKS[stack]["releases"]:
            units = [unit for unit in units_of(stack, name) if algorithm in (None, unit.algorithm)]
            if release not in (None, name) or not units:
                continue
            with tempfile.TemporaryDirectory(prefix="hopflow-shipped-") as folder:
                try:
                    build = BUILDS[STACKS[stack]["kind"]](stack, name, Path(folder))
                    for unit in units:
                        for row in judge(unit, build(unit), suites.split(",")):
                            rows[row.key] = row
                            made.add(row.key)
                            typer.echo(f"{row.stack} {row.release} {row.algorithm}, {row.suite}: {row.verdicts}")
                        write_rows(rows)
                except NotRunError as error:
                    problems.append(f"{stack} {name} could not be run: {error}")
    kept = sorted(set(rows) - made)
    typer.echo(f"made again: {len(made)} rows; kept: {len(kept)} rows")
    for line in (*(" ".join(key) + f", of {rows[key].date}" for key in kept), *problems):
        typer.echo(line)
    raise typer.Exit(1 if problems else 0)
