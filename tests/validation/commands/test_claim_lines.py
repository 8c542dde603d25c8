"""What is printed of claims, and that it fits."""

from __future__ import annotations

import io

from rich.console import Console

from validation import Verdict
from validation.commands.claim_lines import (
    folded,
    print_details,
    print_legend,
    print_paper,
    print_row,
    print_tables,
)
from validation.records import entries, recorded_simulators

R, C, A = (str(v) for v in (Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE))


def row(id: str, model: str, **changed: object) -> dict:
    return {
        "id": id, "paper": entries()[id].paper, "paraphrase": "A [b].", "headline": "Found 1 of 2.",
        "model": model, "simulation": C, "packet_level": A, "simulators": {"ns-2": C},
        "in_words": {"model": model, "simulation": C},
        "statements_hold": {"model": [2, 2], "simulation": [1, 2]},
    } | changed  # fmt: skip


def printed(function, *arguments: object) -> list[str]:
    file = io.StringIO()
    function(*arguments, Console(file=file, width=80))
    return file.getvalue().splitlines()


def test_the_tables_of_all_claims_fit_into_100_columns() -> None:
    """With every verdict, so that no column is left out."""
    kinds = [str(verdict) for verdict in Verdict]
    rows = [row(id, kinds[n % len(kinds)]) for n, id in enumerate(entries())]
    file = io.StringIO()
    print_tables(rows, Console(file=file, width=100))
    lines = file.getvalue().splitlines()
    assert max(map(len, lines)) <= 100
    assert not [line for line in lines if "\u2026" in line]
    assert any(line.split()[:2] == ["malhotra2005", "17"] for line in lines)


def test_a_claim_is_one_line_of_100_columns_with_a_word_for_each_source() -> None:
    """Every word of a source fits into its column."""
    long = row("D05", Verdict.INCONCLUSIVE, packet_level=R, paraphrase="DFC [settles] " + "x " * 99)
    (line,) = printed(print_row, long)
    assert len(line) <= 100
    assert line.split()[:6] == ["D05", "inconclusive", C, "-", R, "1/2"]
    assert "DFC [settles]" in line
    head = printed(print_legend)[-1]
    for name, word in (("model", "inconclusive"), ("ns-2", C), ("ns-3", "-"), ("own packets", R)):
        assert line[head.index(name) :].startswith(f"{word} ")


def test_lines_and_legend_of_all_claims_leave_room_for_the_rest() -> None:
    """Of the 120 lines of the terminal, 10 are left for the counts, 6 for surprises and the end; fabrics have a line a paper."""
    linux = {id for id, found in recorded_simulators().items() if set(found) == {"Linux"}}
    judged = [
        row(id, Verdict.HOLDS, packet_level=C, paper=entry.paper)
        | ({"simulators": {"Linux": C}} if id in linux else {})
        for id, entry in entries().items()
    ]
    alone, papers = folded(judged)
    assert len(alone) + len(papers) + len(printed(print_legend)) <= 104
    lines = [line for paper, some in papers.items() for line in printed(print_paper, paper, some)]
    assert len(lines) == len(papers) == 8
    assert lines[0].startswith("S09 to S16 Linux: model 8 holds; Linux 8 contradicted; own packets")
    assert lines[1] == "Q01 to Q07 zhu2015: model 7 holds; own packets 7 contradicted"
    assert max(map(len, lines)) <= 100
    of_fabrics = [each for some in list(papers.values())[1:] for each in some]
    assert folded(of_fabrics) == (of_fabrics, {})  # alone they have a line each


def test_details_have_the_direction_and_the_count() -> None:
    words = {"model": "holds; contradicted if another host", "simulation": C}
    text = " ".join(" ".join(printed(print_details, row("D05", R, in_words=words))).split())
    assert text == (
        "D05 A [b]. model holds; contradicted if another host; packets contradicted; ns-2 contradicted. "
        "Statements that hold: 2 of 2 in model, 1 of 2 in simulation. Found 1 of 2."
    )
