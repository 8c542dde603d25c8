"""``python -m validation.generate [CASE ...]``: rebuild cases of the evidence library."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Annotated

import typer

from validation import generate as package
from validation.generate.cases import Case, generate
from validation.generate.seals import changes, seal

app = typer.Typer(add_completion=False)


def all_cases() -> dict[str, Case]:
    """Every case: the ``CASES`` of each module in this package, by name."""
    found: dict[str, Case] = {}
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if module.name.endswith("__main__"):
            continue
        loaded = importlib.import_module(module.name)
        found |= {case.name: case for case in getattr(loaded, "CASES", ())}
    return found


def rebuild(names: list[str], jobs: int) -> list[str]:
    """Rebuild cases; return the files that are not as the manifests say."""
    known = all_cases()
    for name in names:
        generate(known[name], jobs)
    return changes()


@app.command()
def main(
    cases: Annotated[list[str] | None, typer.Argument(help="names; none lists them all")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="simulators side by side")] = 2,
    everything: Annotated[bool, typer.Option("--all", help="every case")] = False,
    sealed: Annotated[bool, typer.Option("--seal", help="take protected files as they are")] = False,
) -> None:
    """Rebuild CASES, continuing where an earlier call stopped; without names, list them.

    Files that are not as the manifests say are listed. With --seal the manifests of the data, of the published
    tables and of the claims' texts are written again, and their SHA-256 in ``validation/manifest.py``.
    """
    known = all_cases()
    unknown = [name for name in cases or () if name not in known]
    if unknown:
        raise typer.BadParameter(f"unknown case {unknown[0]!r}; known: {', '.join(known)}")
    chosen = list(known) if everything else (cases or [])
    if not chosen and not sealed:
        for case in known.values():
            typer.echo(f"{case.name:40} {len(case.runs):5} runs  {case.title}")
    for line in rebuild(chosen, jobs) if chosen or sealed else ():
        typer.echo(line)
    if sealed:
        for constant, sha256 in seal().items():
            typer.echo(f"{constant} = {sha256}")


if __name__ == "__main__":
    app()
