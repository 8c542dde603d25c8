"""What a vague word of a paper allows lets the paper's own numbers pass."""

from __future__ import annotations

import pandas as pd
import pytest

from validation import records
from validation.records import recorded_thresholds

FRIENDLY = ("Reno", "Fusion", "ARENO", "CTCP")
TCP = ["TCP1", "TCP2", "TCP3", "TCP4"]


def threshold(id: str, name: str) -> float:
    return recorded_thresholds()[id, name].value


@pytest.fixture
def times() -> pd.DataFrame:
    """Table 4 of yang2001: environment, discipline and source by class."""
    table = pd.read_csv(records.PUBLISHED / "yang2001_table4.csv")
    keys = ["environment", "discipline", "traffic_source"]
    return table.pivot_table("mean_transfer_time_s", keys, "flow_class")


@pytest.mark.parametrize("id", ["K02", "K03", "K06", "K07", "K11", "K12"])
def test_friendly_rules_of_kaneko2007_are_fair(id: str) -> None:
    """The slide calls the pairs of Reno, Fusion, ARENO and CTCP almost the same; the margin leaves little more."""
    table = pd.read_csv(records.PUBLISHED / "kaneko2007_pairs.csv")
    rates = table.set_index(["rule", "against"])["throughput_mbit_per_s"]
    pairs = [(a, b) for a in FRIENDLY for b in FRIENDLY if a < b]
    apart = [abs(rates[a, b] - rates[b, a]) / (rates[a, b] + rates[b, a]) for a, b in pairs]
    assert 0.95 * threshold(id, "margin") < max(apart) < threshold(id, "margin")


def test_ts_of_yang2001_is_not_too_sensitive_to_the_discipline(times: pd.DataFrame) -> None:
    ts = times.loc["ts/ts"].groupby("discipline").mean()
    assert (ts / ts.mean() - 1.0).abs().to_numpy().max() < threshold("Y04", "margin")


def test_best_effort_udp_of_yang2001_is_far_the_fastest(times: pd.DataFrame) -> None:
    """Beside regulated flows of source 1 the best-effort flows are those of source 2."""
    for environment in ("cc/be", "ts/be"):
        rows = times.loc[environment]
        one, two = (rows.xs(source, level="traffic_source") for source in (1, 2))
        others = pd.concat([one, two[TCP]], axis=1).min(axis=1)
        assert (others / two[["UDP3", "UDP4"]].max(axis=1)).min() > threshold("Y05", "least")


def test_udp_of_yang2001_is_several_times_faster_and_priorities_make_no_difference(
    times: pd.DataFrame,
) -> None:
    alone = times.loc["be/be"].groupby("discipline").mean()
    ratio = alone[TCP].mean(axis=1) / alone[["UDP3", "UDP4"]].mean(axis=1)
    assert ratio.min() > threshold("Y06", "least")
    apart = alone[TCP].div(alone[TCP].mean(axis=1), axis=0) - 1.0
    assert apart.abs().to_numpy().max() < threshold("Y06", "margin")


@pytest.mark.parametrize(("one", "other"), [("cc/cc", "ts/ts"), ("cc/be", "ts/be")])
def test_cc_of_yang2001_outperforms_ts_by_the_statistic_that_judges_it(
    times: pd.DataFrame, one: str, other: str
) -> None:
    """Y07; not for every class: under DRR the paper's cc is slower for three of six, and for five."""
    apart = (times.loc[other] / times.loc[one] - 1.0).xs(1, level="traffic_source")
    assert apart.to_numpy().mean() > 0.0
    assert (apart.loc["DRR"] < 0.0).sum() == (3 if one == "cc/cc" else 5)


@pytest.mark.parametrize("priority", [3, 4])
def test_udp_of_yang2001_outperforms_tcp_by_the_statistic_that_judges_it(
    times: pd.DataFrame, priority: int
) -> None:
    """Y08; not in every row: under ts/ts the paper's UDP of priority 3 is slower."""
    apart = times[f"TCP{priority}"] / times[f"UDP{priority}"] - 1.0
    assert apart.median() > 0.0
    assert (apart.loc["ts/ts"] < 0.0).any() == (priority == 3)


def test_reasonably_fair_is_a_factor_of_two() -> None:
    """zheng2002, Sect. 2.2: one half of TCP's rate is just so."""
    assert 1.0 - threshold("Z02", "tolerance") == 0.5


def test_windows_of_half_and_similar_ones_are_told_apart() -> None:
    """zheng2002 says about half in Z06 to Z09, and similar in Z10: no ratio may be both."""
    margin = max(threshold(id, "margin") for id in ("Z06", "Z07", "Z08", "Z09", "Z10"))
    assert 0.5 * (1.0 + margin) < 1.0 - margin
