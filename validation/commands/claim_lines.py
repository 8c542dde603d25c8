"""What ``hopflow validate`` prints of claims: the tally, a line for each, and the most surprising ones."""

from __future__ import annotations

from rich import box
from rich.console import Console
from rich.markup import escape as _escaped
from rich.table import Column, Table

from validation.report import tally
from validation.report.rows import Row, verdicts
from validation.report.surprises import RULE, most_surprising
from validation.verdicts import Verdict

__all__ = ["print_row", "print_surprises", "print_tally"]

STYLES = {
    Verdict.REPRODUCED: "green",
    Verdict.CONTRADICTED: "red",
    Verdict.DEPENDS: "yellow",
    Verdict.NOT_REPRODUCED: "yellow",
    Verdict.OPEN: "dim",
    Verdict.UNDECIDABLE: "dim",
    Verdict.NOT_APPLICABLE: "dim",
}
FOLDED = {
    "reproduced": "repro-\nduced",
    "contradicted": "contra-\ndicted",
    "neither shown": "neither\nshown",
    "no model yet": "no model\nyet",
    "undecidable": "unde-\ncidable",
    "does not apply": "does not\napply",
    "not judged": "not\njudged",
}
"""Heads of the tally's columns in two lines, so that it fits into 80 columns."""


def print_tally(rows: list[Row], console: Console) -> None:
    """Print how many claims have which verdict: a table for the models and one for packets, and a sentence for each."""
    for title, counted in tally.tables(rows).items():
        heads = (Column(FOLDED.get(name, name), justify="right") for name in counted.columns)
        table = Table(title, *heads, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for paper, counts in counted.rows.items():
            table.add_row(paper, *(str(count or "") for count in counts))
        console.print(table)
    for title, side in tally.SIDES.items():
        if said := tally.in_words(rows, side):
            total = sum(count.claims for count in said)
            words = ", ".join(f"{count.claims} {count.words}" for count in said)
            of = "claims of the papers" if total > 1 else "claim of a paper"
            console.print(f"[bold]{title}:[/] of {total} {of} {words}.", highlight=False)


def print_surprises(rows: list[Row], console: Console) -> None:
    """Print the findings of the claims that are contradicted most."""
    if found := most_surprising(rows):
        console.print(f"[bold]Most surprising:[/] {RULE}", highlight=False)
    for row in found:
        console.print(f"  [bold]{row['id']}[/] {_escaped(row['headline'])}", highlight=False)


def print_row(row: Row, console: Console) -> None:
    """Print one line on a claim: statement, verdicts and finding."""
    model, packets = (f"[{STYLES[verdict]}]{verdict}[/]" for verdict in verdicts(row))
    level = Verdict(row["packet_level"])
    own = (
        f", hopflow's packet level [{STYLES[level]}]{level}[/]" if level != "not applicable" else ""
    )
    readings = dict.fromkeys(name for names in row["depends_on"].values() for name in names)
    turned = f" (turned by: {'; '.join(readings)})" if readings else ""
    console.print(
        f"[bold]{row['id']}[/] {_escaped(row['claim'])}: model {model}, packets {packets}{own}"
        f"{_escaped(turned)}. {_escaped(row['headline'])}",
        highlight=False,
    )
