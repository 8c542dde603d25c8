"""What ``hopflow validate`` prints of claims: counts, a line for each paper or claim, and what all evidence contradicts."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.markup import escape as _escaped
from rich.table import Column, Table

from validation.judgements.labels import SIMULATORS
from validation.judgements.verdicts import Claim, Verdict
from validation.records import (
    FABRICS,
    recorded_levels,
    recorded_simulators,
    recorded_verdicts,
)
from validation.report import tally
from validation.report.rows import Row, group_of_row, part_judged, verdict_of
from validation.report.surprises import SHORT_RULE, contradicted_by_all, counted

OWN_PACKETS, NONE = "own packets", Verdict.NOT_APPLICABLE
SOURCES = {"model": "model", **{name: name for name in SIMULATORS}, "level": OWN_PACKETS}
"""The columns of the lines on claims: sources and their heads."""
COLUMN = 19
"""Characters of a column: the longest word of a source, with the part that it judges."""
MAX_FINDINGS = 3
"""Findings that the terminal names; the page has all."""
COUNTED = {
    Verdict.HOLDS: ("holds", "hold"),
    Verdict.CONTRADICTED: ("contradicted", "contradicted"),
    Verdict.DEPENDS: ("depends", "depend"),
    Verdict.MARGIN: ("by margin", "by margin"),
    Verdict.DISAGREE: ("disagrees", "disagree"),
    Verdict.INCONCLUSIVE: ("inconclusive", "inconclusive"),
    Verdict.UNDECIDABLE: ("undecidable", "undecidable"),
    Verdict.NOT_APPLICABLE: ("not judged", "not judged"),
}
"""Words for the count of one claim and of several."""
STYLES = {
    Verdict.HOLDS: "green",
    Verdict.CONTRADICTED: "red",
    Verdict.DEPENDS: "yellow",
    Verdict.MARGIN: "yellow",
    Verdict.DISAGREE: "yellow",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNDECIDABLE: "dim",
    Verdict.NOT_APPLICABLE: "dim",
}
FOLDED = {
    "contradicted": "contra-\ndicted",
    "depends on our margin": "our\nmargin",
    "simulators disagree": "simulators\ndisagree",
    "inconclusive": "incon-\nclusive",
    "undecidable": "unde-\ncidable",
    "not applicable": "not appli-\ncable",
    "not judged": "not\njudged",
}
"""Heads of the tally's columns in two lines, so that it fits into 80 columns."""
WIDEST = 100
"""Characters of a line on a claim at most."""
LEGEND = "inconclusive: neither is certain; depends: on the reading; our margin: it decides; -: does not apply; 1/3: judges one of three statements"


def print_tally(rows: list[Row], console: Console) -> None:
    """Print how many claims have which verdict: a sentence for models, one for packets, one for own comparisons."""
    for title, side in tally.SIDES.items():
        if said := tally.in_words(rows, side):
            total = sum(count.claims for count in said)
            words = "; ".join(f"{count.claims} {count.words}" for count in said)
            of = "claims of the papers" if total > 1 else "claim of a paper"
            _print_wrapped(f"{title}: of {total} {of} {words}.", console)
    for said_apart in (tally.own_models(rows), tally.on_linux(rows), tally.on_fabrics(rows)):
        if said_apart:
            _print_wrapped(said_apart, console)


def print_tables(rows: list[Row], console: Console) -> None:
    """Print the counts paper by paper: a table for the models and one for packets."""
    for title, table_of_side in tally.tables(rows).items():
        heads = (Column(FOLDED.get(name, name), justify="right") for name in table_of_side.columns)
        table = Table(title, *heads, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for paper, counts in table_of_side.rows.items():
            table.add_row(paper, *(str(count or "") for count in counts))
        console.print(table)


def print_papers(rows: list[Row], console: Console) -> None:
    """Print how many claims have which verdict: of the five papers by packets and by models, as the report's first page, and paper by paper."""
    papers = [row for row in rows if group_of_row(row) == "papers"]
    if papers:
        console.print(
            f"Claims of five papers ({len(papers)}; depend: on the reading; by margin: one of ours decides):",
            highlight=False,
        )
    for title, judge in (("packets", _of_packets), ("models", _of_model)):
        _print_counts(f"by {title}", [verdict for row in papers if (verdict := judge(row)) != NONE], console)
    by_paper: dict[str, list[Row]] = {}
    for row in rows:
        if group_of_row(row) in ("papers", "fabrics"):
            by_paper.setdefault(row["paper"], []).append(row)
    if by_paper:
        console.print("Each paper by packets, or by the model where packets do not judge:", highlight=False)
    for name, claims in by_paper.items():
        judge = tally.fabric_verdict if name in FABRICS else _of_packets_or_model
        _print_counts(name, [judge(row) for row in claims], console)
    for sentence in (tally.own_models(rows), tally.on_linux(rows)):
        if sentence:
            _print_wrapped(sentence, console)


def _print_counts(name: str, verdicts: list[str], console: Console) -> None:
    """Print how many claims have which verdict."""
    counts = Counter(verdicts)
    words = [f"{counts[verdict]} {of[counts[verdict] > 1]}" for verdict, of in COUNTED.items() if counts[verdict]]
    if words:
        _print_wrapped(f"  {name} ({len(verdicts)}): {', '.join(words)}", console)


def _of_packets(row: Row) -> str:
    """Return the verdict of the simulators together."""
    return str(row["simulation"])


def _of_model(row: Row) -> str:
    """Return the verdict of the model."""
    return str(row["model"])


def _of_packets_or_model(row: Row) -> str:
    """Return the verdict of the simulators together, or that of the model where these do not judge."""
    return _of_packets(row) if row["simulation"] != NONE else _of_model(row)


def print_not_judged(rows: list[Row], console: Console) -> None:
    """Print which claims have no verdict, and how many statements the bundled data do not decide."""
    sides = ("model", "simulation", "packet_level")
    ids = [row["id"] for row in rows if {row[s] for s in sides} <= {NONE, Verdict.UNDECIDABLE}]
    parts = [part for row in rows for part in row["statements"]]
    undecidable = sum(part["simulation"] == Verdict.UNDECIDABLE for part in parts)
    without = f"{', '.join(ids)} ({len(ids)} of {len(rows)} claims)" if ids else "no claim"
    _print_wrapped(
        f"Not judged: {without}, and {undecidable} of {len(parts)} statements; the pages say why.",
        console,
    )


def print_surprises(rows: list[Row], console: Console) -> None:
    """Print a sentence on each of the first claims with statements that all evidence contradicts."""
    if chosen := contradicted_by_all(rows):
        _print_wrapped(f"{SHORT_RULE}:", console)
    for row in chosen[:MAX_FINDINGS]:
        _print_wrapped(f"  {row['id']}, {counted(row)}", console)
    if more := len(chosen) - MAX_FINDINGS if len(chosen) > MAX_FINDINGS else 0:
        _print_wrapped(f"  and {more} more on the report's first page", console)


def _print_wrapped(text: str, console: Console) -> None:
    """Print a paragraph, wrapped at the length of a line, further lines as far in as the first."""
    indent = " " * (len(text) - len(text.lstrip()))
    for line in textwrap.wrap(text, _width(console), subsequent_indent=indent):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_legend(console: Console) -> None:
    """Print what the words and the columns of the lines on claims mean, and the heads of these."""
    _print_wrapped(LEGEND, console)
    line = "id  " + "".join(f"{head:{COLUMN}}" for head in SOURCES.values()).rstrip()
    console.print(f"[bold]{line}[/]", highlight=False, soft_wrap=True)


def print_recorded(paper: str, claims: Sequence[Claim], console: Console) -> None:
    """Print the claims of a paper with their recorded verdicts, of the sources that judge one of them."""
    apart, levels = recorded_simulators(), recorded_levels()
    known = {id: verdicts.model for id, verdicts in recorded_verdicts().items()}
    words = {
        each.id: {"model": known[each.id], **apart[each.id], OWN_PACKETS: levels[each.id]}
        for each in claims
        if each.id in known
    }
    heads = [
        name
        for name in ("model", *SIMULATORS, OWN_PACKETS)
        if any(given.get(name, NONE) != NONE for given in words.values())
    ]
    console.print(f"[bold]{paper:20}{''.join(f'{name:14}' for name in heads)}[/]", soft_wrap=True)
    for each in claims:
        given = words.get(each.id, {})
        said = "".join(_styled(str(given.get(name, NONE)), 14) for name in heads)
        console.print(f"[bold]{each.id:20}[/]{said}", highlight=False, soft_wrap=True)
        for line in textwrap.wrap(f"{each.where}: {each.text}", _width(console) - 4):
            console.print(f"    {line}", highlight=False, markup=False, soft_wrap=True)
    console.print()


def _styled(word: str, width: int = 0) -> str:
    """Return a verdict in its colour, filled up to a width."""
    return f"[{STYLES[Verdict(word)]}]{_short(word):{width}}[/]"


def _width(console: Console) -> int:
    """Return the length of a line: that of the terminal up to `WIDEST`, which files have."""
    return min(WIDEST, console.width) if console.is_terminal else WIDEST


def print_row(row: Row, console: Console) -> None:
    """Print one line on a claim: its id, and the verdict of each source with the part of the statements that it judges."""
    cells = []
    for source in SOURCES:
        word, part = verdict_of(row, source), part_judged(row, source)
        cells.append(_styled(word) + " " * bool(part) + part)
        cells.append(" " * (COLUMN - len(f"{_short(word)} {part}".rstrip())))
    console.print(f"[bold]{row['id']:4}[/]{''.join(cells).rstrip()}", highlight=False, soft_wrap=True)


def print_answer(row: Row, console: Console) -> None:
    """Print the answer to a claim."""
    _print_wrapped(f"{row['id']} {row['headline']}", console)


def _short(word: str) -> str:
    """Return the word of a verdict for a column."""
    return {Verdict.NOT_APPLICABLE: "-", Verdict.MARGIN: "our margin"}.get(Verdict(word), word)


def print_details(row: Row, console: Console) -> None:
    """Print a paragraph on a claim: the verdicts with their direction, how many statements hold, the finding."""
    said = [f"model {row['in_words']['model']}", f"packets {row['in_words']['simulation']}"]
    said += [f"{name} {verdict}" for name, verdict in row["simulators"].items()]
    if row["packet_level"] != "not applicable":
        said.append(f"hopflow's packet level {row['packet_level']}")
    counts = {name: of for name, of in row["statements_hold"].items() if of[1] > 1}
    names = {"simulation": "packets", "level": "hopflow's packet level"}
    held = ", ".join(f"{n} of {of} in {names.get(s, s)}" for s, (n, of) in counts.items())
    statements = f" Statements that hold: {held}." if held else ""
    text = f"{row['paraphrase']} {'; '.join(said)}.{statements} {row['headline']}"
    console.print(f"[bold]{row['id']}[/] {_escaped(text)}", highlight=False)
