"""``hopflow judge``: a claim judged again, with another threshold or reading."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape as _escaped
from rich.table import Table

from hopflow.console.command_line import AsJson, Commands, as_json, beginning, examples
from validation.display.texts import plain
from validation.judgements.judging import Rejudged, rejudge
from validation.judgements.verdicts import Sides, Verdict
from validation.records import entries

commands = Commands()


def known_claims(incomplete: str) -> list[str]:
    """Complete the id of a claim."""
    return beginning(incomplete, entries())


def _threshold(text: str) -> tuple[str, float]:
    """Return name and value of ``name=value``."""
    name, _, value = text.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        hint = "NAME=VALUE is expected, such as margin=0.2"
        raise ValueError(f"threshold = {text!r}: {hint}") from None


@commands.command(
    "judge",
    epilog=examples(
        "hopflow judge K09",
        "hopflow judge K09 --threshold margin=0.3",
        "hopflow judge D05 --reading 'unshaped hosts'",
        "hopflow judge K09 --seeds",
    ),
)
def judge(
    claim: Annotated[
        str, typer.Argument(help="As in `hopflow claims`.", autocompletion=known_claims)
    ],
    threshold: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE: another threshold; may be given several times."),
    ] = None,
    reading: Annotated[
        str | None, typer.Option(help="A documented reading instead of the default one.")
    ] = None,
    seeds: Annotated[
        bool, typer.Option("--seeds", help="Also leave out the runs of one seed after another.")
    ] = False,
    json: AsJson = False,
) -> None:
    """Judge a claim with another threshold or in another reading of the paper, and see what turns.

    Without options: its thresholds, where the verdicts turn, and its readings. What was measured stays.
    """
    given = dict(map(_threshold, threshold or ()))
    found = rejudge(claim, given, reading=reading)
    about = _about(found, seeds=seeds)
    if json:
        typer.echo(as_json(about))
    else:
        _print(found, about)


def _named(sides: Sides[Verdict]) -> dict[str, str]:
    return {side: str(verdict) for side, verdict in sides.items()}


def _about(found: Rejudged, *, seeds: bool) -> dict[str, Any]:
    """Return everything that is printed, as in JSON."""
    before, after = found.verdicts
    turns = list(found.turns())
    stay = set(found.thresholds) - {turn.threshold for turn in turns}
    tried = {name: found.tried(name) for name in found.thresholds if name in stay}
    return {
        "claim": found.claim,
        "before": _named(before),
        "after": _named(after),
        "reading": found.reading,
        "thresholds": found.thresholds,
        "statements": [
            {
                "statement": plain(old.statement),
                "before": _named(Sides(old.model, old.simulation)),
                "after": _named(Sides(new.model, new.simulation)),
            }
            for old, new in zip(found.before.parts, found.after.parts, strict=True)
        ],
        "turns": [
            {"threshold": turn.threshold, "value": turn.value} | _named(turn.verdicts)
            for turn in turns
        ],
        "unturned": {name: (below[-1], above[-1]) for name, (below, above) in tried.items()},
        "readings": [reading.name for reading in found.before.readings],
        "without_seed": {str(seed): _named(sides) for seed, sides in found.without_a_seed()}
        if seeds
        else {},
    }


def _print(found: Rejudged, about: dict[str, Any]) -> None:
    console = Console()
    claim = entries()[found.claim]
    console.print(f"[bold]{claim.id}[/] {_escaped(claim.text)}", highlight=False)
    table = Table("statement", "model", "packets")
    for old, new in zip(found.before.parts, found.after.parts, strict=True):
        cells = (_arrow(old.model, new.model), _arrow(old.simulation, new.simulation))
        table.add_row(_escaped(plain(old.statement)), *cells)
    table.add_section()
    before, after = found.verdicts
    table.add_row("the whole claim", *map(_arrow, before, after))
    console.print(table)
    if found.reading:
        console.print(f"Reading: {_escaped(found.reading)}", highlight=False)
    used = {each.name: each for each in found.before.thresholds}
    for name, value in found.thresholds.items():
        changed = "" if value == used[name].value else f" (as judged here: {used[name].value:g})"
        meaning = _escaped(plain(used[name].meaning))
        console.print(f"[bold]{name}[/] = {value:g}{changed}: {meaning}", highlight=False)
    for turn in about["turns"]:
        said = f"model {turn['model']}, packets {turn['packets']}"
        console.print(f"  {turn['threshold']} = {turn['value']:.3g}: {said}", highlight=False)
    for name, (least, most) in about["unturned"].items():
        said = f"{name} from {least:.2g} to {most:.2g}: the verdicts stay"
        console.print(f"  {said}", highlight=False)
    for name in about["readings"]:
        console.print(f"other reading: {_escaped(name)}", highlight=False)
    for seed, sides in about["without_seed"].items():
        said = f"model {sides['model']}, packets {sides['packets']}"
        console.print(f"without seed {seed}: {said}", highlight=False)


def _arrow(before: Verdict, after: Verdict) -> str:
    return str(before) if before == after else f"{before} -> [bold]{after}[/]"
