"""``python -m benchmarks.public_names [CHECKOUT]``: the public names by module, and how many came with later work.

A name counts once, however many modules have it. The packages may have `LIMIT` names, and those of
``public_names.toml``, which came with later work on switches, fabrics, chains and paths. The other public modules have
names of one subject, classes that functions return, and errors.
"""

from __future__ import annotations

import ast
import tomllib
from pathlib import Path
from typing import Annotated

import typer

from hopflow.naming.public_modules import ERRORS, PACKAGES, RESULTS, SUBJECTS

LIMIT = 250
"""Names of the packages without those of later work."""
KINDS = {"packages": PACKAGES, "subjects": SUBJECTS, "results": RESULTS, "errors": ERRORS}
"""Public modules by what their names are for."""
ROOT = Path(__file__).parents[1]


def names_of(root: Path, module: str) -> set[str]:
    """Return the names in ``__all__`` of a package of a checkout, or of its stub; none if there is no such package."""
    folder = root.joinpath(*module.split("."))
    found: set[str] = set()
    for path in (folder / "__init__.py", folder / "__init__.pyi"):
        if path.exists():
            found |= _exported(ast.parse(path.read_text(encoding="utf-8")))
    return found


def public_names(root: Path, kind: str) -> set[str]:
    """Return the names of a kind of public modules, each once: a key of `KINDS`."""
    return set().union(*(names_of(root, module) for module in KINDS[kind]))


def later_names() -> dict[str, set[str]]:
    """Return the names of later work by subject."""
    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return {subject: set(names) for subject, names in tomllib.loads(text).items()}


def _exported(tree: ast.Module) -> set[str]:
    """Return the constants of the lists that a module assigns to ``__all__``."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == "__all__" for target in node.targets
        ):
            found |= {item.value for item in ast.walk(node.value) if isinstance(item, ast.Constant)}
    return found


def main(
    checkout: Annotated[Path, typer.Argument(help="default: this one")] = ROOT,
) -> None:
    """Print the names by module, by kind, and by subject of later work."""
    root = checkout.resolve()
    by_kind = {kind: public_names(root, kind) for kind in KINDS}
    for kind, modules in KINDS.items():
        for module in modules:
            typer.echo(f"{module:26}{kind:10}{len(names_of(root, module)):5}")
    typer.echo("\neach name once")
    for kind, names in by_kind.items():
        typer.echo(f"  {kind:34}{len(names):5}")
    typer.echo(f"  {'all':34}{len(set().union(*by_kind.values())):5}")
    kept = by_kind["packages"]
    typer.echo("\npackages")
    for subject, names in later_names().items():
        typer.echo(f"  {'later work on ' + subject:34}{len(names & kept):5}")
        kept = kept - names
    typer.echo(f"  {f'others (at most {LIMIT})':34}{len(kept):5}")


if __name__ == "__main__":
    typer.run(main)
