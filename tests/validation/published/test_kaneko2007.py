"""The tables of kaneko2007's slides as transcribed: shape, sums and known cells."""

from __future__ import annotations

import pandas as pd
import pytest

from validation import records

RULES = ("Reno", "Fusion", "ARENO", "CTCP", "HSTCP", "BIC", "CUBIC")
ROW_SUMS = (205.40, 233.63, 213.75, 245.50, 376.33, 464.39, 432.20)
COLUMN_SUMS = (420.48, 385.12, 396.71, 380.41, 231.16, 166.41, 190.91)
FLOW_SUMS = {
    (1, 1): 101.22,
    (1, 2): 96.30,
    (1, 3): 99.08,
    (2, 1): 100.43,
    (2, 2): 99.40,
    (2, 3): 100.16,
}


@pytest.fixture
def cells() -> pd.DataFrame:
    frame = pd.read_csv(records.PUBLISHED / "kaneko2007_pairs.csv")
    return frame.set_index(["rule", "against"])["throughput_mbit_per_s"].unstack()  # noqa: PD010


@pytest.fixture
def flows() -> pd.DataFrame:
    return pd.read_csv(records.PUBLISHED / "kaneko2007_three_flows.csv")


def test_pairs_are_seven_by_seven(cells: pd.DataFrame) -> None:
    assert set(cells.index) == set(cells.columns) == set(RULES)
    assert cells.notna().to_numpy().all()


@pytest.mark.parametrize(("rule", "total"), list(zip(RULES, ROW_SUMS, strict=True)))
def test_rows_of_pairs_sum(cells: pd.DataFrame, rule: str, total: float) -> None:
    assert cells.loc[rule].sum() == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(("rule", "total"), list(zip(RULES, COLUMN_SUMS, strict=True)))
def test_columns_of_pairs_sum(cells: pd.DataFrame, rule: str, total: float) -> None:
    assert cells[rule].sum() == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(
    ("rule", "against", "printed"),
    [
        ("Reno", "Reno", 44.89),
        ("Reno", "HSTCP", 10.32),
        ("Fusion", "Reno", 50.02),
        ("ARENO", "CTCP", 37.96),
        ("BIC", "Reno", 81.23),
        ("CUBIC", "CUBIC", 44.25),
    ],
)
def test_known_cells(cells: pd.DataFrame, rule: str, against: str, printed: float) -> None:
    assert cells.loc[rule, against] == printed


def test_no_pair_exceeds_the_link(cells: pd.DataFrame) -> None:
    """Two flows of the table together stay below the 100 Mb/s of the other slides, barely."""
    one_way = cells.loc[list(RULES), list(RULES)].to_numpy()
    both = one_way + one_way.T
    assert both.max() < 100
    assert both.min() > 80


@pytest.mark.parametrize(("panel", "total"), [pytest.param(k, v) for k, v in FLOW_SUMS.items()])
def test_three_flows_sum(flows: pd.DataFrame, panel: tuple[int, int], total: float) -> None:
    chosen = flows[(flows["slide"] == panel[0]) & (flows["panel"] == panel[1])]
    assert list(chosen["flow"]) == [1, 2, 3]
    assert chosen["throughput_mbit_per_s"].sum() == pytest.approx(total, abs=1e-9)


def test_first_flow_has_most(flows: pd.DataFrame) -> None:
    best = flows.loc[flows.groupby(["slide", "panel"])["throughput_mbit_per_s"].idxmax()]
    assert set(best["flow"]) == {1}


def test_every_row_has_its_source() -> None:
    for name in ("kaneko2007_pairs", "kaneko2007_three_flows"):
        frame = pd.read_csv(records.PUBLISHED / f"{name}.csv")
        assert frame["source"].str.contains("slide").all()
        assert frame["how_known"].str.contains("read twice").all()
