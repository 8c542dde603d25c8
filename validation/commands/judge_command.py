"""``hopflow judge``: a claim judged again, with another threshold or reading."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape as _escaped
from rich.table import Table

from hopflow.console.command_line import AsJson, Commands, as_json, completions, examples
from validation.display.texts import plain
from validation.judgements.judging import Rejudged, rejudge
from validation.judgements.verdicts import Verdict
from validation.records import entries

commands = Commands()


def known_claims(incomplete: str) -> list[str]:
    """Complete the id of a claim."""
    return completions(incomplete, entries())


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
    claim: Annotated[str, typer.Argument(help="As in `hopflow claims`.", autocompletion=known_claims)],
    threshold: Annotated[
        list[str] | None,
        typer.Option(help="NAME=VALUE: another threshold; may be given several times."),
    ] = None,
    reading: Annotated[str | None, typer.Option(help="A documented reading instead of the default one.")] = None,
    seeds: Annotated[bool, typer.Option("--seeds", help="Also leave out the runs of one seed after another.")] = False,
    json: AsJson = False,
) -> None:
    """Judge a claim with another threshold or in another reading of the paper, and see what turns.

    Without options: its thresholds, where the verdict of each source turns, and the verdicts in its readings. What was measured stays.
    """
    given = dict(map(_threshold, threshold or ()))
    found = rejudge(claim, given, reading=reading)
    if seeds and not found.seeds:
        raise ValueError(f"seeds = True: {found.claim} has no packet runs with seeds to leave out; omit it")
    about = _about(found, seeds=seeds)
    if json:
        typer.echo(as_json(about))
    else:
        _print(found, about)


TITLES = {"simulation": "packets", "process": "same process", "level": "packet level"}
"""How sources are named that have other names in `Part.by`."""


def _named(verdicts: Mapping[str, Verdict]) -> dict[str, str]:
    return {TITLES.get(source, source): str(verdict) for source, verdict in verdicts.items()}


def _statements(found: Rejudged) -> list[dict[str, Any]]:
    """Return the statements with their verdicts before and after the changes, by source."""
    sources = found.before.verdicts
    return [
        {
            "statement": plain(old.statement),
            "before": _named({source: old.by(source) for source in sources}),
            "after": _named({source: new.by(source) for source in sources}),
        }
        for old, new in zip(found.before.parts, found.after.parts, strict=True)
    ]


def _about(found: Rejudged, *, seeds: bool) -> dict[str, Any]:
    """Return everything that is printed, as in JSON."""
    before = found.before
    turns = [
        {
            "threshold": turn.threshold,
            "source": TITLES.get(turn.source, turn.source),
            "stays": turn.stays,
            "value": turn.value,
            "verdict": str(turn.verdict),
        }
        for turn in found.turns()
    ]
    turned = {(turn["threshold"], turn["source"]) for turn in turns}
    unturned = {}
    for name in found.thresholds:
        below, above = found.tried(name)
        stay = [source for source in _named(before.verdicts) if (name, source) not in turned]
        unturned[name] = {"from": below[-1], "to": above[-1], "sources": stay}
    after = {source: found.after.verdict(source) for source in before.verdicts}
    return {
        "claim": found.claim,
        "before": _named(before.verdicts),
        "after": _named(after),
        "reading": found.reading,
        "thresholds": found.thresholds,
        "statements": _statements(found),
        "turns": turns,
        "unturned": {name: each for name, each in unturned.items() if each["sources"]},
        "readings": {
            reading.name: {
                TITLES.get(source, source): before.words_in_reading(reading, source)
                for source in before.verdicts
                if any(part.by(source) is not Verdict.NOT_APPLICABLE for part in reading.parts)
            }
            for reading in before.readings
        },
        "without_seed": {str(seed): _named(verdicts) for seed, verdicts in found.without_a_seed()} if seeds else {},
    }


def _print(found: Rejudged, about: dict[str, Any]) -> None:
    console = Console()
    claim = entries()[found.claim]
    console.print(f"[bold]{claim.id}[/] {_escaped(claim.text)}", highlight=False)
    simulators = len(found.before.simulators)
    sources = [name for name in about["before"] if simulators != 1 or name != "packets"]
    table = Table("statement", *sources)
    for each in about["statements"]:
        table.add_row(_escaped(each["statement"]), *_arrows(each, sources))
    table.add_section()
    table.add_row("the whole claim", *_arrows(about, sources))
    console.print(table)
    if found.reading:
        console.print(f"Reading: {_escaped(found.reading)}", highlight=False)
    used = {each.name: each for each in found.before.thresholds}
    for name, value in found.thresholds.items():
        changed = "" if value == used[name].value else f" (as judged here: {used[name].value:g})"
        meaning = _escaped(plain(used[name].meaning))
        console.print(f"[bold]{name}[/] = {value:g}{changed}: {meaning}", highlight=False)
        for turn in about["turns"]:
            if turn["threshold"] == name and turn["source"] in sources:
                side = "below" if turn["value"] < used[name].value else "from"
                before = about["before"][turn["source"]]
                arrow = f"{turn['source']} {before} -> [bold]{turn['verdict']}[/]"
                console.print(f"  {side} {turn['value']:.4g}: {arrow}", highlight=False)
        if stay := about["unturned"].get(name):
            names = ", ".join(source for source in stay["sources"] if source in sources)
            tried = f"from {stay['from']:.2g} to {stay['to']:.2g}"
            console.print(f"  {tried} the verdict stays: {names}", highlight=False)
    for name, verdicts in about["readings"].items():
        shown = [f"{source} {verdicts[source]}" for source in sources if source in verdicts]
        console.print(f"other reading: {_escaped(name)}: {', '.join(shown) or 'not judged'}", highlight=False)
    for seed, verdicts in about["without_seed"].items():
        shown = [f"{source} {verdicts[source]}" for source in sources if source in verdicts]
        console.print(f"without seed {seed}: {', '.join(shown)}", highlight=False)


def _arrows(about: dict[str, Any], sources: list[str]) -> list[str]:
    """Return the verdicts of sources, with an arrow where they are others after the changes."""
    pairs = ((about["before"][source], about["after"][source]) for source in sources)
    return [before if before == after else f"{before} -> [bold]{after}[/]" for before, after in pairs]
