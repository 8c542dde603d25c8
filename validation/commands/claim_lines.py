"""What ``hopflow validate`` prints of claims: the counts, a line for each, and the most surprising ones."""

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
from validation.records import group_of, recorded_levels, recorded_simulators, recorded_verdicts
from validation.report import tally
from validation.report.rows import Row
from validation.report.surprises import SHORT_RULE, most_surprising

LINUX, OWN, NONE = "Linux", "own packets", Verdict.NOT_APPLICABLE
COLUMNS = tuple(name for name in SIMULATORS if name != LINUX)
"""Simulators with a column; claims that Linux judges share a line."""
STYLES = {
    Verdict.HOLDS: "green",
    Verdict.CONTRADICTED: "red",
    Verdict.DEPENDS: "yellow",
    Verdict.DISAGREE: "yellow",
    Verdict.INCONCLUSIVE: "yellow",
    Verdict.UNDECIDABLE: "dim",
    Verdict.NOT_APPLICABLE: "dim",
}
FOLDED = {
    "contradicted": "contra-\ndicted",
    "simulators disagree": "simulators\ndisagree",
    "inconclusive": "incon-\nclusive",
    "undecidable": "unde-\ncidable",
    "not applicable": "not appli-\ncable",
    "not judged": "not\njudged",
}
"""Heads of the tally's columns in two lines, so that it fits into 80 columns."""
WIDEST = 100
"""Characters of a line on a claim at most."""
LEGEND = "inconclusive: neither is certain; depends: on the reading; -: does not apply; 2/3: statements hold"


def print_tally(rows: list[Row], console: Console) -> None:
    """Print how many claims have which verdict: a sentence for models, one for packets, one for own comparisons."""
    for title, side in tally.SIDES.items():
        if said := tally.in_words(rows, side):
            total = sum(count.claims for count in said)
            words = "; ".join(f"{count.claims} {count.words}" for count in said)
            of = "claims of the papers" if total > 1 else "claim of a paper"
            _print_wrapped(f"{title}: of {total} {of} {words}.", console)
    for said_apart in (tally.own_models(rows), tally.on_fabrics(rows)):
        if said_apart:
            _print_wrapped(said_apart, console)


def print_tables(rows: list[Row], console: Console) -> None:
    """Print the counts paper by paper: a table for the models and one for packets."""
    for title, counted in tally.tables(rows).items():
        heads = (Column(FOLDED.get(name, name), justify="right") for name in counted.columns)
        table = Table(title, *heads, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for paper, counts in counted.rows.items():
            table.add_row(paper, *(str(count or "") for count in counts))
        console.print(table)


def print_surprises(rows: list[Row], console: Console) -> None:
    """Print the findings of the claims that are contradicted most."""
    if found := most_surprising(rows):
        _print_wrapped(f"{SHORT_RULE}:", console)
    for row in found:
        text = f"{row['id']} {row['headline']}"
        line = textwrap.shorten(text, _width(console) - 2, placeholder="...")
        console.print(f"  {_escaped(line)}", highlight=False, soft_wrap=True)


def _print_wrapped(text: str, console: Console) -> None:
    """Print a paragraph, wrapped at the length of a line."""
    for line in textwrap.wrap(text, _width(console)):
        console.print(line, highlight=False, markup=False, soft_wrap=True)


def print_legend(console: Console) -> None:
    """Print what the words and the columns of the lines on claims mean, and the heads of these."""
    _print_wrapped(LEGEND, console)
    heads = ("model", *COLUMNS, OWN)
    line = "id  " + "".join(f"{head:13}" for head in heads) + f"{'hold':6}claim"
    console.print(f"[bold]{line}[/]", highlight=False, soft_wrap=True)


def print_recorded(paper: str, claims: Sequence[Claim], console: Console) -> None:
    """Print the claims of a paper with their recorded verdicts, of the sources that judge one of them."""
    apart, levels = recorded_simulators(), recorded_levels()
    known = {id: verdicts.model for id, verdicts in recorded_verdicts().items()}
    words = {
        each.id: {"model": known[each.id], **apart[each.id], OWN: levels[each.id]}
        for each in claims
        if each.id in known
    }
    heads = [
        name
        for name in ("model", *SIMULATORS, OWN)
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
    """Print one line on a claim: its id, a word for each source of evidence, and the claim, cut to fit."""
    simulators = row["simulators"]
    words = (
        row["model"],
        *(simulators.get(name, "not applicable") for name in COLUMNS),
        row["packet_level"],
    )
    side = "simulation" if row["simulation"] != "not applicable" else "model"
    hold, of = row["statements_hold"][side]
    counted = f"{hold}/{of}" if of > 1 else ""
    room = max(_width(console) - 4 - 13 * len(words) - 6, 12)
    claim = textwrap.shorten(row["paraphrase"], room, placeholder="...")
    styled = "".join(_styled(word, 13) for word in words)
    line = f"[bold]{row['id']:4}[/]{styled}{counted:6}{_escaped(claim)}"
    console.print(line, highlight=False, soft_wrap=True)


def folded(rows: list[Row]) -> tuple[list[Row], dict[str, list[Row]]]:
    """Return the rows that have a line each, and those that share one beside others: of fabrics by paper, of Linux all."""
    alone = [row for row in rows if not _shared_line(row)]
    if not alone:
        return rows, {}
    papers: dict[str, list[Row]] = {}
    for row in rows:
        if name := _shared_line(row):
            papers.setdefault(name, []).append(row)
    return alone, papers


def _shared_line(row: Row) -> str:
    """Return the paper on fabrics of a claim, or that Linux alone judges it; "" where it has a line of its own."""
    if group_of(row["paper"]) == "fabrics":
        return str(row["paper"])
    return LINUX if set(row["simulators"]) == {LINUX} else ""


def print_paper(paper: str, rows: list[Row], console: Console) -> None:
    """Print one line on the claims of a paper: how often each word stands for models and for own packets."""
    said = []
    for title, name in (("model", "model"), (LINUX, LINUX), (OWN, "packet_level")):
        given = [row["simulators"].get(name, row.get(name)) for row in rows]
        counts = Counter(word for word in given if word not in (None, Verdict.NOT_APPLICABLE))
        words = [f"{count} [{STYLES[Verdict(word)]}]{word}[/]" for word, count in counts.items()]
        said += [f"{title} {', '.join(words)}"] if words else []
    ids = f"{rows[0]['id']} to {rows[-1]['id']}" if len(rows) > 1 else rows[0]["id"]
    line = f"[bold]{ids}[/] {paper}: {'; '.join(said) or 'undecidable'}"
    console.print(line, highlight=False, soft_wrap=True)


def _short(word: str) -> str:
    """Return the word of a verdict for a column of 13 characters."""
    return "-" if word == Verdict.NOT_APPLICABLE else word


def print_details(row: Row, console: Console) -> None:
    """Print a paragraph on a claim: the verdicts with their direction, how many statements hold, the finding."""
    said = [f"model {row['in_words']['model']}", f"packets {row['in_words']['simulation']}"]
    said += [f"{name} {verdict}" for name, verdict in row["simulators"].items()]
    if row["packet_level"] != "not applicable":
        said.append(f"hopflow's packet level {row['packet_level']}")
    counts = {name: of for name, of in row["statements_hold"].items() if of[1] > 1}
    held = ", ".join(f"{hold} of {of} in {name}" for name, (hold, of) in counts.items())
    statements = f" Statements that hold: {held}." if held else ""
    text = f"{row['paraphrase']} {'; '.join(said)}.{statements} {row['headline']}"
    console.print(f"[bold]{row['id']}[/] {_escaped(text)}", highlight=False)
