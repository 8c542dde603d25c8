"""``python -m benchmarks.halved_constants``: halve each constant of an error bound, one at a time, and run the quick test.

The bounds are those of ``docs/error-constants.toml``. Each constant is halved in a copy of the source and of the table, in
which the test file runs in a process of its own: the comparison of both notices nothing, only the inequality of the proof or a
test of what is right does. A divisor, and what is subtracted, is doubled where its half makes the bound larger. Constants that
no test notices are printed. The exit status is 1 if the table does not say of one of them that it is a choice.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import functools
import itertools
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

__all__ = [
    "Bound",
    "Constant",
    "bounds",
    "constants_of",
    "decisive_halves",
    "problem_of",
    "source_texts",
    "unlisted_bounds",
]

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "docs" / "error-constants.toml"
TEST = "tests/markov/test_error_constants.py"
UNITS = ("U", "WIDE_U")
EXACT_UNITS = {"U": Fraction(1, 2**53), "WIDE_U": Fraction(1, 2**64)}
COUNTS = tuple(map(Fraction, (1, 2, 7, 1000, 10**6)))
"""Of numbers of terms in a bound."""
SIZES = (Fraction(0), *COUNTS)
PROPER = (Fraction(0), Fraction(1, 2**30), Fraction(1, 1000), Fraction(1))
"""Of relative quantities."""
WORDS = (Fraction(2), Fraction(3))
COUNT = re.compile(
    r"(n|n_\w+|max_\w+|m|k|last|counts?|above|most|terms|spans|len\(.*\)|.*\b(size|max|shape|right|largest_sum)\b.*)$"
)
"""Names of quantities that are numbers of terms, at least one."""
PART = re.compile(r".*(relative|spread|grown)")
"""Names of quantities that are at most one."""
SAMPLES = 20
"""Sets of values at which an inequality is checked."""


@dataclass(frozen=True)
class Bound:
    """A bound as it is in the code, and the inequality that its proof needs.

    Attributes
    ----------
    file
        Path from the root.
    bound
        Expression or assignment of the code.
    source
        Reason of the numbers.
    function
        Qualified name; "" at the module's level.
    needed
        Comparison with the least bound (``>=``) or the largest one (``<=``); "" where there is a test or a choice.
    times
        How often the function has it.
    test
        Name of the test in `TEST` that notices other numbers: an adversary, or an inequality of its own.
    choice
        Why another number would be right as well: a stopping criterion, a plan, a floor far above what underflow takes.
    """

    file: str
    bound: str
    source: str
    function: str = ""
    needed: str = ""
    times: int = 1
    test: str = ""
    choice: str = ""


@dataclass(frozen=True)
class Constant:
    """A number in a source text, from the byte ``start`` of a line to ``end``, its half and twice the number."""

    line: int
    start: int
    end: int
    half: str
    double: str

    def halved(self, source: str) -> str:
        """Return the source with half of the number."""
        return self._replaced(source, self.half)

    def doubled(self, source: str) -> str:
        """Return the source with twice the number."""
        return self._replaced(source, self.double)

    def _replaced(self, source: str, number: str) -> str:
        lines = source.splitlines(keepends=True)
        content = lines[self.line - 1].encode()
        lines[self.line - 1] = (content[: self.start] + number.encode() + content[self.end :]).decode()
        return "".join(lines)


class _Outside(ArithmeticError):
    """Values at which a bound has no meaning."""


def bounds() -> list[Bound]:
    """Return the rows of the table."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["bound"]
    return [Bound(**row) for row in rows]


def source_texts() -> dict[str, str]:
    """Return the source of each module of `markov` by its path from the root."""
    paths = sorted((ROOT / "markov").rglob("*.py"))
    return {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def unlisted_bounds(file: str, source: str, rows: list[Bound]) -> list[str]:
    """Return the expressions of a file that use a unit roundoff and have no row."""
    listed = {
        (row.function, _normal(row.bound).partition(" = ")[2] or _normal(row.bound)) for row in rows if row.file == file
    }
    listed |= {(row.function, _normal(row.bound)) for row in rows if row.file == file}
    return [
        f"{file}: {function}: {ast.unparse(node)}"
        for function, node in _arithmetic(_tree(source), "")
        if any(isinstance(leaf, ast.Name) and leaf.id in UNITS for leaf in _leaves(node))
        and (function, ast.unparse(node)) not in listed
    ]


def constants_of(row: Bound, source: str) -> list[Constant]:
    """Return the numbers of a bound in the source of its file."""
    return [
        Constant(number.lineno, number.col_offset, number.end_col_offset or 0, half, double)
        for node in _nodes(row, source)
        for number, half, double in _numbers(node)
    ]


def problem_of(row: Bound, texts: Mapping[str, str]) -> str:
    """Return what is wrong with a bound in source texts by path; "" where nothing is.

    The code must have the bound of the table, and the bound must imply the inequality of its proof, in exact arithmetic,
    with the constants of the code.
    """
    count = len(_nodes(row, texts[row.file]))
    if count != row.times:
        return f"{row.file}: {row.function} has {row.bound} {count} times, not {row.times}"
    if not row.needed:
        return ""
    return _violation(row, _module_constants(row.file, texts))


def decisive_halves(row: Bound, texts: Mapping[str, str]) -> tuple[int, int]:
    """Return how many constants of a bound break the inequality when they are halved, and how many there are.

    A divisor, or what is subtracted, is doubled: half of it would make the bound larger.
    """
    constants = constants_of(replace(row, function=""), row.bound)
    names = _module_constants(row.file, texts) if row.needed else {}
    changed = ((constant.halved(row.bound), constant.doubled(row.bound)) for constant in constants)
    broken = (any(_violation(replace(row, bound=bound), names) for bound in pair) for pair in changed if row.needed)
    return sum(broken), len(constants)


def _violation(row: Bound, names: Mapping[str, Fraction]) -> str:
    """Return the values at which a bound breaks its inequality; "" if there are none."""
    sign, _, needed = row.needed.partition(" ")
    code, proof = _expression(row.bound), _expression(needed)
    exact = {**names, **EXACT_UNITS}
    quantities = {
        ast.unparse(leaf)
        for tree, constants in ((code, names), (proof, exact))
        for leaf in _quantities(tree, constants)
    }
    for values in _samples(quantities):
        try:
            bound, least = _value(code, {**names, **values}), _value(proof, {**exact, **values})
        except (_Outside, ZeroDivisionError):
            continue
        if bound < least if sign == ">=" else bound > least:
            at = ", ".join(f"{name} = {float(value):g}" for name, value in values.items())
            return f"{row.file}: {row.bound} is {float(bound)!r}, not {sign} {float(least)!r}, at {at}"
    return ""


@functools.lru_cache(maxsize=8)
def _tree(source: str) -> ast.Module:
    return ast.parse(source)


def _normal(text: str) -> str:
    return ast.unparse(ast.parse(text))


def _expression(text: str) -> ast.expr:
    """Return an expression, or the right side of an assignment."""
    statement = ast.parse(text).body[0]
    assert isinstance(statement, ast.Expr | ast.Assign)
    return statement.value


def _nodes(row: Bound, source: str) -> list[ast.AST]:
    """Return the expressions or assignments of a source that have the text of a bound."""
    text, is_assignment = _normal(row.bound), isinstance(ast.parse(row.bound).body[0], ast.Assign)
    tree = _tree(source)
    nodes = _assignments(tree, "") if is_assignment else _arithmetic(tree, "")
    return [node for function, node in nodes if function == row.function and ast.unparse(node) == text]


def _scope(node: ast.AST, scope: str) -> str:
    if not isinstance(node, ast.FunctionDef | ast.ClassDef):
        return scope
    return f"{scope}.{node.name}" if scope else node.name


def _assignments(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Assign):
            yield scope, child
        yield from _assignments(child, _scope(child, scope))


def _arithmetic(node: ast.AST, scope: str) -> Iterator[tuple[str, ast.AST]]:
    """Yield the largest expressions of operators, with the functions that they are in."""
    if isinstance(node, ast.BinOp | ast.UnaryOp):
        yield scope, node
        for leaf in _leaves(node):
            yield from _arithmetic(leaf, scope)
        return
    for child in ast.iter_child_nodes(node):
        yield from _arithmetic(child, _scope(child, scope))


def _leaves(node: ast.AST) -> Iterator[ast.AST]:
    match node:
        case ast.BinOp(left, _, right):
            yield from _leaves(left)
            yield from _leaves(right)
        case ast.UnaryOp(_, operand):
            yield from _leaves(operand)
        case _:
            yield node


def _numbers(node: ast.AST) -> Iterator[tuple[ast.expr, str, str]]:
    """Yield the numbers under a node, each with its half and twice the number; a power of two is one number."""
    match node:
        case ast.BinOp(ast.Constant(value=2.0 | 2), ast.Pow(), ast.UnaryOp(ast.USub(), ast.Constant(value=int(bits)))):
            yield node, f"2.0**-{bits + 1}", f"2.0**-{bits - 1}"
        case ast.Constant(value=float(number)) | ast.Constant(value=int(number)) if not isinstance(number, bool):
            if number:
                yield node, repr(0.5 * number), repr(2 * number)
        case ast.Subscript(value=value) if not isinstance(value, ast.Subscript):
            yield from _numbers(value)  # an index is no constant of a bound
        case ast.keyword(arg="axis" | "initial" | "minlength"):
            pass  # of a sum or a largest number of terms
        case _:
            for child in ast.iter_child_nodes(node):
                yield from _numbers(child)


def _module_constants(file: str, texts: Mapping[str, str]) -> dict[str, Fraction]:
    """Return the numbers of a module that have names, its own and imported ones, as the source texts have them."""
    names: dict[str, Fraction] = {"WIDE_U": EXACT_UNITS["WIDE_U"]}
    for node in _tree(texts[file]).body:
        match node:
            case ast.ImportFrom(str(module), aliases):
                path = f"{module.replace('.', '/')}.py"
                wanted = {alias.name for alias in aliases if alias.name.isupper()}
                if wanted and path in texts:
                    names |= {name: value for name, value in _module_constants(path, texts).items() if name in wanted}
            case ast.Assign([ast.Name(name)], value) if name.isupper():
                with contextlib.suppress(KeyError, _Outside):
                    names[name] = _value(value, names)
    return names


def _quantities(node: ast.AST, names: Mapping[str, Fraction]) -> Iterator[ast.AST]:
    """Yield what an expression takes as given: all but numbers, operators and named constants."""
    for leaf in _leaves(node):
        match leaf:
            case ast.Constant():
                pass
            case ast.Call(ast.Name("gamma"), [argument]):
                yield from _quantities(argument, names)
            case ast.Call(ast.Attribute(ast.Name("np"), "clip"), arguments):
                for argument in arguments:
                    yield from _quantities(argument, names)
            case ast.Name(name) if name in names:
                pass
            case _:
                yield leaf


def _samples(quantities: set[str]) -> Iterator[dict[str, Fraction]]:
    """Yield values of quantities: all alike, one of them large, and random ones."""
    order = sorted(quantities)
    choices = [
        WORDS if name == "words" else PROPER if PART.match(name) else COUNTS if COUNT.match(name) else SIZES
        for name in order
    ]
    for n in range(len(SIZES)):
        yield {name: choice[min(n, len(choice) - 1)] for name, choice in zip(order, choices, strict=True)}
    for large, low in itertools.product(order, (0, 1)):
        yield {name: choice[-1] if name == large else choice[low] for name, choice in zip(order, choices, strict=True)}
    draw = random.Random(1)
    for _ in range(SAMPLES):
        yield {name: draw.choice(choice) for name, choice in zip(order, choices, strict=True)}


def _value(node: ast.AST, names: Mapping[str, Fraction]) -> Fraction:
    """Return the exact value of an expression whose quantities have values; all of them are at least zero."""
    match node:
        case ast.Constant(value=float(number)) | ast.Constant(value=int(number)):
            return Fraction(repr(number))
        case ast.UnaryOp(ast.USub(), operand):
            return -_value(operand, names)
        case ast.BinOp(left, ast.Pow(), right):
            return _value(left, names) ** int(_value(right, names))
        case ast.BinOp(left, operator, right):
            a, b = _value(left, names), _value(right, names)
            match operator:
                case ast.Add():
                    return a + b
                case ast.Mult() | ast.MatMult():
                    return a * b
                case ast.Div():
                    return a / b
                case ast.Sub() if a >= b:
                    return a - b
            raise _Outside
        case ast.Call(ast.Name("gamma"), [argument]):
            share = _value(argument, names) * EXACT_UNITS["U"]
            return share / (1 - share)
        case ast.Call(ast.Attribute(ast.Name("np"), "clip"), [argument, low, high]):
            return min(max(_value(argument, names), _value(low, names)), _value(high, names))
    return names[ast.unparse(node)]


def _copy_of_tree(folder: Path) -> None:
    """Copy what the test reads; packages that it only imports are linked."""
    shutil.copytree(ROOT / "markov", folder / "markov", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("hopflow", "responsefn", "dfcmodel", "validation", "pyproject.toml"):
        (folder / name).symlink_to(ROOT / name)
    for file in (TEST, TABLE.relative_to(ROOT), Path(__file__).relative_to(ROOT), "benchmarks/__init__.py"):
        target = folder / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, target)


def _is_noticed(folder: Path, row: Bound, source: str, constants: tuple[Constant, Constant]) -> bool:
    """Run the tests with half of a constant, or twice the number, in the source and in the table."""
    in_source, in_row = constants
    halved = in_source.halved(source), in_row.halved(row.bound)
    doubled = in_source.doubled(source), in_row.doubled(row.bound)
    return any(_fails(folder, row, changed, bound) for changed, bound in (halved, doubled))


def _fails(folder: Path, row: Bound, source: str, bound: str) -> bool:
    """Run the tests with another source and another bound in the table."""
    path, table = folder / row.file, folder / TABLE.relative_to(ROOT)
    before, rows = path.read_text(encoding="utf-8"), table.read_text(encoding="utf-8")
    path.write_text(source, encoding="utf-8")
    table.write_text(
        "[[bound]]".join(_with_bound(part, row, bound) for part in rows.split("[[bound]]")), encoding="utf-8"
    )
    try:
        command = [sys.executable, "-B", "-m", "pytest", "-xqq", "--noconftest", "-p", "no:cacheprovider", TEST]
        command += ["-k", "not half_of_each"]
        environment = os.environ | {"PYTHONPATH": str(folder)}
        run = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
        return run.returncode == 1
    finally:
        path.write_text(before, encoding="utf-8")
        table.write_text(rows, encoding="utf-8")


def _with_bound(part: str, row: Bound, bound: str) -> str:
    """Return the text of a row of the table with another bound, if it is that row."""
    values = tomllib.loads(part).items()
    named = {("file", row.file), ("bound", row.bound), *([("function", row.function)] if row.function else [])}
    return part.replace(f"bound = '{row.bound}'", f"bound = '{bound}'") if named <= set(values) else part


def main() -> int:
    """Halve each constant of the files that are named; all without names."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.halved_constants", description=__doc__)
    parser.add_argument("files", nargs="*", help="paths from the root; default: all of the table")
    files = parser.parse_args().files
    texts = source_texts()
    counts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        _copy_of_tree(folder)
        for row in bounds():
            if files and row.file not in files:
                continue
            source, in_row = texts[row.file], constants_of(replace(row, function=""), row.bound)
            for constants in zip(
                constants_of(row, source), in_row, strict=False
            ):  # of the first place that has the bound
                if _is_noticed(folder, row, source, constants):
                    outcome = "test of what is right" if row.test else "broken inequality"
                else:
                    outcome = "choice" if row.choice else "not noticed"
                    print(f"{outcome}: {row.file}:{constants[0].line}: {constants[0].half} in {row.bound}", flush=True)
                counts[outcome] += 1
    print(f"{counts.total()} constants:", ", ".join(f"{name} {count}" for name, count in counts.items()))
    return 1 if counts["not noticed"] or not counts else 0


if __name__ == "__main__":
    sys.exit(main())
