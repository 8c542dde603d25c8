"""Claims whose model and packets differ have a step from the fluid to packets, or say why not."""

from __future__ import annotations

import pytest

from validation import Verdict, evidence
from validation.records import entries, recorded_levels, recorded_verdicts, without_explanation
from validation.waterfalls import ABOUT, CASE, gap_of, waterfall_of

PAPERS = ("takano2006", "kaneko2007", "malhotra2005")
DECIDED = {
    Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.DEPENDS, Verdict.INCONCLUSIVE,
}  # fmt: skip


def test_claims_that_differ_are_explained_or_excused() -> None:
    levels = recorded_levels()
    differ = {
        id
        for id, sides in recorded_verdicts().items()
        if entries()[id].paper in PAPERS
        and len({sides.model, sides.packets, levels[id]} & DECIDED) > 1
    }
    assert differ <= set(ABOUT) | set(without_explanation())
    assert set(without_explanation()) <= differ
    assert not set(ABOUT) & set(without_explanation())
    assert all(len(reason.split()) > 8 for reason in without_explanation().values())


def test_contributions_add_up_to_the_gap() -> None:
    for (_, _), rows in evidence.table(CASE).groupby(["claim", "quantity"]):
        means = rows.set_index("row")["mean"]
        total = means.drop("packets").sum()
        assert total == pytest.approx(means["packets"], rel=1e-8, abs=1e-8)


def test_a_gap_has_a_row_for_each_quantity_and_a_figure() -> None:
    gap = gap_of("D18")
    assert gap is not None
    assert gap.columns[0] == "fluid"
    assert gap.columns[-1] == "packets"
    assert all(len(cells) == len(gap.columns) for cells in gap.rows.values())
    assert "is unexplained" in gap.sentences[0]  # whole packets in the law itself
    assert "packets lost at all nodes (packets)" in gap.rows
    cells = dict(zip(gap.columns, gap.rows["packets lost at all nodes (packets)"], strict=True))
    own = evidence.table(CASE).set_index(["claim", "quantity", "row"])["mean"]["D18"][
        "packets lost"
    ]
    for row in ("fluid", "packets"):
        assert float(cells[row].partition(" ± ")[0]) == pytest.approx(own[row], abs=0.6)
    assert len(waterfall_of("D18").draw().axes) == 2
    assert gap_of("M01") is None
