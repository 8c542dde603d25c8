"""``python -m validation.generate [CASE ...]``: rebuild cases of the evidence library."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Annotated

import typer

from validation import generate as package
from validation import manifest
from validation.generate.cases import Case, generate, seal

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


def rebuild(names: list[str], jobs: int) -> str:
    """Rebuild cases and write the manifest; return its SHA-256."""
    known = all_cases()
    for name in names:
        generate(known[name], jobs)
    return seal()


@app.command()
def main(
    cases: Annotated[list[str] | None, typer.Argument(help="names; none lists them all")] = None,
    jobs: Annotated[int, typer.Option(min=1, help="simulators side by side")] = 2,
    everything: Annotated[bool, typer.Option("--all", help="every case")] = False,
) -> None:
    """Rebuild CASES, continuing where an earlier call stopped; without names, list them.

    The manifest is then written again. Where it changed, a case has changed, and its SHA-256 has to
    be set in ``validation/manifest.py`` by hand.
    """
    known = all_cases()
    unknown = [name for name in cases or () if name not in known]
    if unknown:
        raise typer.BadParameter(f"unknown case {unknown[0]!r}; known: {', '.join(known)}")
    chosen = list(known) if everything else (cases or [])
    if chosen and (sha256 := rebuild(chosen, jobs)) != manifest.MANIFEST_SHA256:
        typer.echo(f"the data changed: set MANIFEST_SHA256 in validation/manifest.py to {sha256}")
    if not chosen:
        for case in known.values():
            typer.echo(f"{case.name:40} {len(case.runs):5} runs  {case.title}")


if __name__ == "__main__":
    app()
