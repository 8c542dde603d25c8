"""What is printed of claims fits into 80 columns, whole."""

from __future__ import annotations

import io

from rich.console import Console

from validation import Verdict
from validation.commands.claim_lines import print_row, print_tally
from validation.records import entries

R, C, A = (str(v) for v in (Verdict.REPRODUCED, Verdict.CONTRADICTED, Verdict.NOT_APPLICABLE))


def row(id: str, model: str, **changed: object) -> dict:
    return {
        "id": id, "paper": entries()[id].paper, "claim": "a [b]", "headline": "Found 1 of 2.",
        "model": model, "simulation": C, "packet_level": A, "depends_on": {"model": []},
    } | changed  # fmt: skip


def printed(function, *arguments: object) -> list[str]:
    file = io.StringIO()
    function(*arguments, Console(file=file, width=80))
    return file.getvalue().splitlines()


def test_the_tally_of_all_claims_fits_into_80_columns() -> None:
    """With every verdict that claims have today, so that no column is left out."""
    kinds = [str(verdict) for verdict in Verdict if verdict is not Verdict.OPEN]
    rows = [row(id, kinds[n % len(kinds)]) for n, id in enumerate(entries())]
    lines = printed(print_tally, rows)
    assert max(map(len, lines)) <= 80
    assert not [line for line in lines if "\u2026" in line]
    assert any(line.split()[:2] == ["malhotra2005", "17"] for line in lines)
    assert any(line.startswith("Packets: of 86 claims") for line in lines)


def test_a_line_has_what_turns_a_verdict_and_the_packet_level() -> None:
    turned = {"model": ["another host"], "simulation": ["another host", "short queues"]}
    lines = printed(print_row, row("D05", R, packet_level=R, depends_on=turned))
    text = " ".join(" ".join(lines).split())
    expected = f"D05 a [b]: model {R}, packets {C}, hopflow's packet level {R}"
    assert text == f"{expected} (turned by: another host; short queues). Found 1 of 2."
