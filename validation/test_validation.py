"""``pytest --pyargs validation``: the numerical validation of an installed hopflow."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from validation import evidence, manifest
from validation.claims import find, ledger
from validation.display.picture_points import plotted_points
from validation.judgements.recording import differences, recorded
from validation.judgements.verdicts import Finding, Verdict
from validation.records import OWN, recorded_thresholds, recorded_verdicts

if TYPE_CHECKING:
    import pandas as pd

SLOW_CLAIMS = (
    "D04",
    "D05",
    "D06",
    "D07",
    "D08",
    "D09",
    "D14",
    "D15",
    "K01",
    "K02",
    "K03",
    "K05",
    "K07",
    "K08",
    "K09",
    "K10",
    "K12",
    "M04",
    "M05",
    "M08",
    "M16",
    "S04",
    "S06",
    "S08",
    "Y18",
    *("Q01", "Q02", "Q03", "Q04", "Q05", "Q07"),
    *("E01", "E03", "E04", "E05", "E06", "E07", "H01", "H02", "H05"),
    *("I01", "I02", "I03", "I04", "I05", "B01"),
)
"""Half a second to half a minute of runs each; `make run` checks them too and fails where one differs."""


@pytest.mark.parametrize(
    "id", [pytest.param(id, marks=pytest.mark.slow if id in SLOW_CLAIMS else []) for id in ledger()]
)
def test_claim_is_found_as_recorded(id: str) -> None:
    """Verdicts and thresholds are those of ``published``, the text is complete, pictures are labelled."""
    finding = find(id).check()
    assert not list(differences(finding, recorded()[id])), finding.summary
    if find(id).paper != OWN and differ(finding):
        assert finding.experiments, "model, packets and paper differ: switch the cause off"
    assert set(finding.cases) <= set(evidence.cases())
    assert all(number.quantity for number in finding.numbers)
    for picture in finding.pictures:
        figure = picture.draw()
        axes = figure.axes
        assert all(ax.get_xlabel() for ax in axes[-1:])
        first = axes[0].yaxis.get_major_formatter()(0, 0)
        assert axes[0].get_ylabel() or is_name(first), "what is along the axis"
        assert picture.caption
        assert picture.alt
        check_points(plotted_points(figure), [_texts(ax) for ax in axes])


def _texts(axes: Any) -> set[str]:
    """Return the texts of the legend of axes."""
    return {" ".join(text.split()) for text in axes.get_legend_handles_labels()[1]}


def check_points(points: pd.DataFrame, legends: list[set[str]]) -> None:
    """Check the table of a picture: all curves of its legends, in numbers, along named axes."""
    assert len(points)
    assert set().union(*legends) <= set(points["curve"])
    numbers = ["x", "x_low", "x_high", "y", "y_low", "y_high", "value"]
    assert all(points[name].dtype.kind in "fi" for name in numbers)
    for axis in "xy":
        ends = points[[axis, f"{axis}_low", f"{axis}_high"]]
        free = (points["kind"] == "reference") | (points["kind"] == "interval")
        assert (ends.notna().any(axis=1) | free).all()
        named = (points[f"{axis}_quantity"] != "") | (points[f"{axis}_name"] != "")
        assert (named | free).all()


def is_name(tick: str) -> bool:
    """Return whether the text at a tick is the name of a row, not a number.

    Examples
    --------
    >>> is_name("FCFS"), is_name("\N{MINUS SIGN}0.5"), is_name("")
    (True, False, False)
    """
    return bool(tick) and re.fullmatch(r"[-+\u2212]?[\d.,]+(e[-+\u2212]?\d+)?%?", tick) is None


def differ(finding: Finding) -> bool:
    """Return whether model, packets and paper differ: a side that is judged does not reproduce it, with our margin as it is."""
    sides = {finding.model, finding.simulation} - {Verdict.NOT_APPLICABLE, Verdict.UNDECIDABLE}
    return bool(sides - {Verdict.HOLDS, Verdict.MARGIN})


def test_every_recorded_verdict_has_a_check() -> None:
    """No claim of ``verdicts.csv`` or ``thresholds.csv`` has lost its check."""
    assert set(recorded_verdicts()) == set(ledger())
    assert {id for id, _ in recorded_thresholds()} <= set(ledger())


def test_bundled_data_are_intact() -> None:
    """Every bundled file is the one of the manifest; so are ledger, tables of others and texts."""
    assert manifest.verify()
    assert manifest.verify_published()
