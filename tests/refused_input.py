"""Tables of refused input: calls, and the error that each must raise.

A file ``refused_*.txt`` is Python. Expressions that stand alone are the calls; the line ``# raises ValueError: pattern``
after them names the error of each, and a regular expression that is searched for in its message. Other statements
prepare: those before the first section for the whole file, those within a section for that section. A section is one
test; it begins with a comment after an empty line. A name that the table does
not define is a fixture.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

RAISES = "# raises "


class Row(NamedTuple):
    """A call, and what it must raise: an error or a tuple of errors, and a pattern of the message."""

    call: ast.Expr
    error: str
    pattern: str


class Section(NamedTuple):
    """The statements and rows of one test, in their order."""

    name: str
    steps: list[ast.stmt | Row]


def read_table(path: Path) -> list[Section]:
    """Return the sections of a table; the first one, which has no name, prepares."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    sections, at = [Section("", [])], {0: 0}
    for number, line in enumerate(lines, 1):
        if line.startswith("# ") and (number == 1 or not lines[number - 2].strip()):
            sections.append(Section(line[2:].strip().rstrip("."), []))
        at[number] = len(sections) - 1
    errors = {number: line.removeprefix(RAISES) for number, line in enumerate(lines, 1) if line.startswith(RAISES)}
    for statement in ast.parse(text).body:
        section = sections[at[statement.lineno]]
        if not isinstance(statement, ast.Expr):
            section.steps.append(statement)
            continue
        end = statement.end_lineno or statement.lineno
        said = next((errors[n] for n in sorted(errors) if n > end), None)
        assert said is not None, f"{path.name}, line {statement.lineno}: no error is named"
        error, _, pattern = said.partition(": ")
        section.steps.append(Row(statement, error, pattern))
    return sections


class RefusedTable(pytest.File):
    """A table of refused input."""

    def collect(self) -> Iterator[RefusedSection]:
        """Yield the sections as tests."""
        self.prepared: dict[str, Any] | None = None
        self.first, *sections = read_table(self.path)
        assert sections, f"{self.path.name} has no section"
        for section in sections:
            yield RefusedSection.from_parent(self, name=section.name, callobj=test_of(self, section), section=section)

    def names(self) -> dict[str, Any]:
        """Return the names that the whole table shares, in a new dictionary."""
        if self.prepared is None:
            self.prepared = {"__name__": self.path.stem, "__file__": str(self.path)}
            for step in self.first.steps:
                assert not isinstance(step, Row), f"{self.path.name}: a call before the sections"
                run(step, self.path, self.prepared)
        return dict(self.prepared)


class RefusedSection(pytest.Function):
    """The rows of a section: each must raise its error."""

    def __init__(self, *, section: Section, **given: Any) -> None:
        super().__init__(**given)
        self.section = section

    def reportinfo(self) -> tuple[Path, int, str]:
        """Return where the section stands."""
        return self.path, statement_of(self.section.steps[0]).lineno - 1, self.name


def test_of(table: RefusedTable, section: Section) -> Callable[..., None]:
    """Return the function of a section: it has a parameter for each name that the table leaves to a fixture."""

    def test(**fixtures: Any) -> None:
        if wrong := wrong_rows(section, table.path, table.names() | fixtures):
            pytest.fail("\n".join(wrong), pytrace=False)

    asked = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY)
        for name in sorted(missing_names([*table.first.steps, *section.steps]))
    ]
    test.__signature__ = inspect.Signature(asked)  # type: ignore[attr-defined]
    return test


def missing_names(steps: list[ast.stmt | Row]) -> set[str]:
    """Return the names that statements use and do not define."""
    given, used = set(dir(builtins)), set()
    for node in (node for step in steps for node in ast.walk(statement_of(step))):
        if isinstance(node, ast.Name):
            (used if isinstance(node.ctx, ast.Load) else given).add(node.id)
        elif isinstance(node, ast.arg):
            given.add(node.arg)
        elif isinstance(node, ast.alias):
            given.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            given.add(node.name)
    return used - given


def statement_of(step: ast.stmt | Row) -> ast.stmt:
    """Return a statement, or that of a row."""
    return step.call if isinstance(step, Row) else step


def wrong_rows(section: Section, path: Path, names: dict[str, Any]) -> list[str]:
    """Run the statements and the calls; return what is wrong, by line."""
    assert any(isinstance(step, Row) for step in section.steps), "no call"
    wrong = []
    for step in section.steps:
        if not isinstance(step, Row):
            run(step, path, names)
        elif (said := difference(step, path, names)) is not None:
            wrong.append(f"line {step.call.lineno}: {ast.unparse(step.call)}\n  {said}")
    return wrong


def run(step: ast.stmt, path: Path, names: dict[str, Any]) -> None:
    """Execute a statement."""
    exec(compile(ast.Module([step], []), str(path), "exec", dont_inherit=True), names)  # noqa: S102


def difference(row: Row, path: Path, names: dict[str, Any]) -> str | None:
    """Return what is wrong with the error of a call; None: nothing."""
    expected = eval(row.error, names)
    try:
        run(row.call, path, names)
    except expected as error:
        if re.search(row.pattern, str(error)):
            return None
        return f"its message is {str(error)!r}, without {row.pattern!r}"
    return f"is not refused with {row.error}"
