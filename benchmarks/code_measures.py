"""``python -m benchmarks.code_measures [CHECKOUT ...]``: how much there is to read in the packages and their tests.

For each checkout, this one by default, one column: parameters, files that one call enters, repeated lines, test
files that import private modules, public names, lines. An older state is measured by this same script::

    git worktree add /tmp/before 909c2b5c
    python -m benchmarks.code_measures /tmp/before .
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.public_names import KINDS, public_names
from hopflow.naming.public_modules import PUBLIC

PACKAGES = ("hopflow", "dfcmodel", "markov", "responsefn", "validation")
SHARED = 6
"""Consecutive lines that are the same in two places, without blank lines and indentation."""
WALKS = {
    "generator of PauseTandem()": ("from markov import PauseTandem, generator", "generator(PauseTandem())"),
    "stationary of PauseTandem()": ("from markov import PauseTandem, stationary", "stationary(PauseTandem())"),
    "transient of PauseTandem()": ("from markov import PauseTandem, transient", "transient(PauseTandem(), [1.0])"),
    "passage of PauseTandem()": (
        "from markov import PauseTandem, passage", "passage(PauseTandem(), to=lambda s: s.j == 20).mean",
    ),
    "simulate(takano2006('1')), fluid": (
        "from dfcmodel import Fluid, simulate, takano2006", "simulate(takano2006('1'), Fluid())",
    ),
    "simulate(takano2006('1')), packets": (
        "from dfcmodel import Packets, simulate, takano2006", "simulate(takano2006('1'), Packets())",
    ),
}  # fmt: skip
"""Calls that are followed: imports and the call."""
FOLLOW = """
import json, sys
from pathlib import Path
{imports}
folders = tuple(str(Path({root!r}, name)) + "/" for name in {packages!r})
files = {{}}
def follow(frame, event, argument):
    code = frame.f_code
    if event == "call" and code.co_name != "<module>" and code.co_filename.startswith(folders):
        functions = files.setdefault(str(Path(code.co_filename).relative_to({root!r})), {{}})
        functions[code.co_qualname] = functions.get(code.co_qualname, 0) + 1
{call}
sys.setprofile(follow)
{call}
sys.setprofile(None)
print(json.dumps(files))
"""
"""Counts files whose functions are called; the second of two calls, when all is compiled and imported."""


def sources(root: Path, *folders: str) -> list[Path]:
    """Return the Python files of folders of a checkout, sorted."""
    return [path for folder in folders for path in sorted((root / folder).rglob("*.py"))]


def parameters_of(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, int]]:
    """Yield name and number of parameters of each function among nodes, without ``self`` and ``cls``."""
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            names = [arg.arg for arg in (*node.args.posonlyargs, *node.args.args)]
            bound = names[:1] in (["self"], ["cls"])
            yield node.name, len(names) - bound + len(node.args.kwonlyargs)


def parameters(root: Path) -> Iterator[tuple[str, int]]:
    """Yield name and number of parameters of each function of the packages."""
    for path in sources(root, *PACKAGES):
        yield from parameters_of(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def code_lines(path: Path) -> list[str]:
    """Return the lines of a file without those of docstrings and imports at its top."""
    lines = path.read_text(encoding="utf-8").splitlines()
    tree = ast.parse("\n".join(lines))
    spans: list[ast.stmt] = [
        node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            spans += node.body[: ast.get_docstring(node) is not None]
    for span in spans:
        first, last = span.lineno, span.end_lineno or span.lineno
        lines[first - 1 : last] = [""] * (last - first + 1)
    return lines


def all_lines(path: Path) -> list[str]:
    """Return the lines of a file."""
    return path.read_text(encoding="utf-8").splitlines()


def repeats(paths: list[Path], lines_of: Callable[[Path], list[str]] = all_lines) -> int:
    """Return the pairs of places that share `SHARED` lines or more, each at its full length once."""
    texts = [[line.strip() for line in lines_of(path) if line.strip()] for path in paths]
    places = defaultdict(list)
    for n, text in enumerate(texts):
        for k in range(len(text) - SHARED + 1):
            places[tuple(text[k : k + SHARED])].append((n, k))

    def begins(one: tuple[int, int], two: tuple[int, int]) -> bool:
        """Return whether two places are the first lines of what they share."""
        (n, k), (m, j) = one, two
        overlap = n == m and abs(k - j) < SHARED
        before = k > 0 and j > 0 and texts[n][k - 1] == texts[m][j - 1]
        return not (overlap or before)

    return sum(begins(one, two) for at in places.values() for one, two in combinations(at, 2))


def imports_private(path: Path) -> bool:
    """Return whether a test file imports a module of a package that users do not import."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
        elif isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
    return any(name.split(".")[0] in PACKAGES and name not in PUBLIC for name in modules)


def walk(root: Path, imports: str, call: str) -> dict[str, dict[str, int]]:
    """Return how often a call enters each function of the packages, by file, in a process of its own."""
    text = FOLLOW.format(imports=imports, root=str(root), packages=PACKAGES, call=call)
    done = subprocess.run(
        [sys.executable, "-c", text], cwd=root, env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, dict[str, int]] = json.loads(done.stdout.splitlines()[-1])
    return found


def print_walks(root: Path) -> None:
    """Print the files that each call of `WALKS` enters, with the functions called in each."""
    for name, call in WALKS.items():
        files = walk(root, *call)
        typer.echo(f"{name}: {len(files)} files")
        for file, functions in files.items():
            typer.echo(f"  {file}: {len(all_lines(root / file))} lines")
            for function, count in functions.items():
                typer.echo(f"    {count:6d} {function}")


def lines(paths: list[Path]) -> int:
    """Return the number of lines of files."""
    return sum(len(path.read_text(encoding="utf-8").splitlines()) for path in paths)


def measured(root: Path) -> dict[str, int | str]:
    """Return the measures of a checkout, by name."""
    counts = [count for _, count in parameters(root)]
    tests = [path for path in sources(root, "tests") if path.name.startswith("test_")]
    return {
        "functions with more than 6 parameters": sum(count > 6 for count in counts),
        "functions with more than 8 parameters": sum(count > 8 for count in counts),
        "most parameters": max(counts),
        **{f"files entered: {name}": len(walk(root, *call)) for name, call in WALKS.items()},
        "lines in packages": lines(sources(root, *PACKAGES)),
        "lines in tests": lines(sources(root, "tests")),
        f"pairs of places that share {SHARED} lines": repeats(
            sources(root, *PACKAGES, "tests", "benchmarks")
        ),
        "of these, in code (without docstrings and imports)": repeats(
            sources(root, *PACKAGES, "tests", "benchmarks"), code_lines
        ),
        "test files that import private modules": f"{sum(map(imports_private, tests))} of {len(tests)}",
        "public names of the packages": len(public_names(root, "packages")),
        "public names": len(set().union(*(public_names(root, kind) for kind in KINDS))),
    }


def main(
    checkouts: Annotated[list[Path] | None, typer.Argument(help="none: this one")] = None,
    functions: Annotated[bool, typer.Option(help="what each call enters, instead")] = False,
) -> None:
    """Print a table with a column for each checkout."""
    roots = [path.resolve() for path in checkouts or [Path(__file__).parents[1]]]
    if functions:
        for root in roots:
            print_walks(root)
        return
    columns = [measured(root) for root in roots]
    typer.echo(f"| measure | {' | '.join(root.name for root in roots)} |")
    typer.echo(f"|---|{'--:|' * len(roots)}")
    for name in columns[0]:
        typer.echo(f"| {name} | {' | '.join(str(column[name]) for column in columns)} |")


if __name__ == "__main__":
    typer.run(main)
