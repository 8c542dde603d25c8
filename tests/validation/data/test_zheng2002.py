"""zheng2002's cases: balances, and what their notes say of their numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from validation import evidence
from validation.claims.zheng2002.loss_sweeps import RULES

CASES = [
    case for case in evidence.cases() if case.startswith("zheng2002/") and "unstated" not in case
]
DUMBBELLS = [case for case in CASES if "link.csv" in evidence.provenance(case)["files"]]
TRACE = "zheng2002/tfrc-receiver-trace"


def test_every_case_has_five_seeds() -> None:
    for case in CASES:
        assert len(evidence.provenance(case)["seeds"]) >= 5


@pytest.mark.parametrize("case", DUMBBELLS)
def test_queues_count_every_packet(case: str) -> None:
    flows, link = evidence.table(case, "flows"), evidence.table(case, "link")
    for frame in (flows, link):
        into = frame["arrivals"] + frame["queued_before"]
        assert (into == frame["drops"] + frame["departures"] + frame["queued_after"]).all()
    files = evidence.provenance(case)["files"]
    keys = files["link.csv"]["index"]
    counts = ["arrivals", "drops", "departures", "marks", "queued_before", "queued_after"]
    by_link = flows.groupby(keys)[counts].sum()
    pd.testing.assert_frame_equal(by_link, link.set_index(keys)[counts].sort_index())
    if "series.csv.xz" in files:
        series = evidence.table(case, "series")
        late = series[series["time"] > 20.25].groupby([*keys, "kind", "flow"])["departures"].sum()
        whole = flows.set_index([*keys, "kind", "flow"])["departures"]
        assert (late == whole[late.index]).all()


def test_the_trace_knows_where_every_packet_is() -> None:
    packets = evidence.table(TRACE, "packets")
    for _, each in packets.groupby("seed"):
        arrived = each["arrived"].notna()
        assert not (arrived & (each["lost"] == 1)).any()
        missing = ~arrived & (each["lost"] == 0)
        assert (each.loc[missing, "sent"] > 60 - 0.026).all()
        assert (each["sequence"].to_numpy() == np.arange(len(each))).all()


def shares(case: str, *keys: str) -> pd.Series:
    """Mean rate of the first kind of a pair over that of the second, averaged over the seeds."""
    flows = evidence.table(case, "flows")
    first = flows["pair"].str.split(" with ").str[0]
    rates = flows.assign(first=first).groupby(["pair", *keys, "seed", "kind", "first"])["rate"]
    frame = rates.mean().reset_index("first")
    kinds = frame.index.get_level_values("kind")
    drop = ["kind"]
    ours = frame.loc[kinds == frame["first"], "rate"].droplevel(drop)
    greedy = kinds.isin((*RULES, "TFRC"))
    theirs = frame.loc[(kinds != frame["first"]) & greedy, "rate"].droplevel(drop)
    return (ours / theirs).groupby(["pair", *keys]).mean()


def test_half_comes_from_the_reading() -> None:
    ratio = shares("zheng2002/pairs-8x8", "reading", "background")
    for pair, by_b, by_one_less_b in (
        ("TCP(3/7,1/4) with TCP(1,1/2)", 0.50, 0.99),
        ("TCP(3/7,1/4) with TFRC", 0.46, 0.90),
        ("TCP(1/5,1/8) with TCP(1,1/2)", 0.32, 0.97),
        ("TCP(1/5,1/8) with TFRC", 0.30, 0.88),
    ):
        assert ratio[pair, "b", 0] == pytest.approx(by_b, abs=0.01)
        assert ratio[pair, "1-b", 0] == pytest.approx(by_one_less_b, abs=0.01)
    flows = evidence.table("zheng2002/pairs-8x8", "flows").query("reading == 'b'")
    for pair, each in flows[flows["pair"].str.endswith("TCP(1,1/2)")].groupby("pair"):
        means = each.groupby("kind")[["rate_variance", "rate_cov"]].mean()
        rule = str(pair).split(" with ")[0]
        assert means.loc[rule, "rate_variance"] < means.loc["TCP(1,1/2)", "rate_variance"]
        assert means.loc[rule, "rate_cov"] > means.loc["TCP(1,1/2)", "rate_cov"]


def test_the_gap_grows_or_closes_by_the_reading() -> None:
    ratio = shares("zheng2002/friendliness-15", "reading", "number")["TCP(3/7,1/4) with TCP(1,1/2)"]
    assert ratio["1-b", 8] == pytest.approx(0.99, abs=0.01)
    assert ratio["1-b", 64] == pytest.approx(0.84, abs=0.01)
    assert ratio["b", 8] == pytest.approx(0.51, abs=0.01)
    assert ratio["b", 64] == pytest.approx(0.74, abs=0.01)
    flows = evidence.table("zheng2002/friendliness-15", "flows").query("kind in @RULES")
    cuts = flows.groupby("number")[["timeouts", "cuts"]].sum()
    timeouts = cuts["timeouts"] / cuts["cuts"]
    assert timeouts[8] < 0.05
    assert timeouts[64] > 0.5


def test_one_flow_fills_the_link_until_it_loses() -> None:
    link = evidence.table("zheng2002/window-sweep", "link")
    means = link.groupby(["background", "window"])[["utilisation", "loss"]].mean()
    alone = means.loc[0]
    assert (alone.loc[:120, "loss"] == 0).all()
    assert (alone.loc[130:, "loss"] > 0).all()
    assert alone.loc[100:120, "utilisation"].to_numpy() == pytest.approx(1, abs=1e-3)
    assert alone.loc[130:, "utilisation"].to_numpy() == pytest.approx(0.935, abs=0.01)
    assert means.loc[5].query("loss > 0").index.min() == 110


def test_one_kind_of_flows() -> None:
    link = evidence.table("zheng2002/flows-one-kind", "link")
    mean = link.groupby(["reading", "rule", "number"])[["utilisation", "loss"]].mean()
    idle = mean[mean["utilisation"] < 0.9995]
    assert set(idle.index) == {("b", "TCP(3/7,1/4)", 10), ("b", "TCP(1/5,1/8)", 10)}
    for rule in mean.index.droplevel("number").unique():
        assert mean.loc[rule, "loss"].is_monotonic_increasing
    for number in mean.index.unique("number"):
        loss = mean["loss"].xs(number, level="number")
        assert loss.idxmax() == ("1-b", "TFRC")
        assert loss["1-b"].idxmin() == "TCP(1/5,1/8)"
    low = evidence.table("zheng2002/flows-one-kind-low-thresholds", "link")
    use = low.groupby(["reading", "rule", "number"])["utilisation"].mean()
    for number in use.index.unique("number"):
        assert use["1-b"].xs(number, level="number").idxmin() == "TCP(1,1/2)"
    for number in (40, 70):
        assert use["1-b", "TCP(1,1/2)", number] > use["b", "TCP(1/5,1/8)", number]
        assert use["b", "TCP(1/5,1/8)", number] > use["b", "TCP(3/7,1/4)", number]


def test_queues_and_marks() -> None:
    for case in ("red-droptail", "ecn"):
        assert evidence.table(f"zheng2002/{case}", "link")["utilisation"].min() > 0.999
    link = evidence.table("zheng2002/red-droptail", "link").set_index("queue")
    assert link.loc["RED", "mean_queue"].max() < 48
    assert link.loc["DropTail", "mean_queue"].min() > 130
    assert link.loc["DropTail", "loss"].max() < link.loc["RED", "loss"].min()
    loss = evidence.table("zheng2002/ecn", "link").groupby(["pair", "reading", "number", "ecn"])
    spared = 1 - loss["loss"].mean().xs(1, level="ecn") / loss["loss"].mean().xs(0, level="ecn")
    assert spared.xs(5, level="number").min() > 0.99
    assert spared.xs(35, level="number").max() < 0.4


def test_access_delay() -> None:
    flows = evidence.table("zheng2002/access-delay", "flows")
    means = flows.groupby(["pair", "reading", "kind", "flow"])[["rate", "rate_variance"]].mean()
    near, far = means.xs(1, level="flow"), means.xs(8, level="flow")
    assert (far < 0.7 * near).all(axis=None)
