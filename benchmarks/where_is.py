"""``python -m benchmarks.where_is [CHECKOUT ...]``: questions "where is ...?" that names of files answer.

``where_is.csv`` has the questions, the names of files that a newcomer looks for, one after the other, and the names that
are defined where the answer is, with those of earlier states. A question is answered where one of the first `LOOKED_AT`
files of the package defines one of these names whose own name, or that of whose folder, contains one of the guesses.
"""

from __future__ import annotations

import ast
import csv
from functools import cache
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

LOOKED_AT = 6
"""Files that one looks at for a guess, those with the shortest names first."""


class Question(NamedTuple):
    """What one looks for, the guesses, and what is defined where it is."""

    package: str
    question: str
    guesses: tuple[str, ...]
    names: frozenset[str]


def questions() -> list[Question]:
    """Return the questions of the table."""
    with Path(__file__).with_suffix(".csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return [
        Question(
            row["package"],
            row["question"],
            tuple(row["guesses"].split()),
            frozenset(row["names"].split()),
        )
        for row in rows
    ]


@cache
def defined(path: Path) -> frozenset[str]:
    """Return the names of functions, classes, fields and constants that a file defines."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
            body = node.body if isinstance(node, ast.ClassDef) else []
        elif isinstance(node, ast.Module):
            body = node.body
        else:
            continue
        for statement in body:
            targets = getattr(statement, "targets", [getattr(statement, "target", None)])
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def answer(root: Path, question: Question) -> Path | None:
    """Return the file that a guess finds; None where no guess does."""
    files = [*(root / question.package).rglob("*.py")]
    for guess in question.guesses:
        named = [path for path in files if guess in path.stem or guess in path.parent.name]
        for path in sorted(named, key=lambda path: (len(path.stem), path))[:LOOKED_AT]:
            if question.names & defined(path):
                return path.relative_to(root)
    return None


def main(
    checkouts: Annotated[list[Path] | None, typer.Argument(help="none: this one")] = None,
) -> None:
    """Print how many questions the names of files answer, and those that they do not."""
    asked = questions()
    for root in [path.resolve() for path in checkouts or [Path(__file__).parents[1]]]:
        missed = [each.question for each in asked if answer(root, each) is None]
        typer.echo(f"{root.name}: {len(asked) - len(missed)} of {len(asked)}")
        for question in missed:
            typer.echo(f"  not found: {question}")


if __name__ == "__main__":
    typer.run(main)
