"""What ns-2 says about yang2001: packets of every transfer, Table 1 and Fig. 2, orders of priority.

Tolerances come from the spread of five seeds; where the paper's number is out of reach the test
holds what was found, and says so.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import validation
from validation import evidence

CASES = [case.partition("/")[2] for case in evidence.cases() if case.startswith("yang2001/")]
ENDLESS = {"bandwidth-shares", "priority-ageing-endless", "sensitivity-shares"}
MEANS = {"all-ratios", "unstated-parameters", "regulated-sources"}
"""Mean times of classes, without packets."""
TCP, UDP = ["TCP1", "TCP2", "TCP3", "TCP4"], ["UDP3", "UDP4"]
DISCIPLINES = ("fcfs", "drr", "red", "sfq")


def crossed(*environments: str) -> list[tuple[str, int]]:
    """Cases of Table 4 that are there, each with its sources that are regulated."""
    return [
        (f"{environment}-{discipline}", source)
        for environment in environments
        for discipline in DISCIPLINES
        if f"{environment}-{discipline}" in CASES
        for source, mechanism in enumerate(environment.split("-"), 1)
        if mechanism != "be"
    ]


def transfers(case: str) -> pd.DataFrame:
    """Rows of the flows of a case, each with its class and the values of what the case varies."""
    flows = evidence.table(f"yang2001/{case}", "flows")
    flows["flow_class"] = flows["protocol"] + flows["priority"].astype(str)
    defaults = {"packet": 1000.0, "udp_packet": 210.0, "bandwidth": 1e6}
    for name, default in defaults.items():
        flows[name] = default
        if "parameter" in flows:
            rows = flows["parameter"] == name
            flows.loc[rows, name] = pd.to_numeric(flows.loc[rows, "value"])
    return flows


def means(flows: pd.DataFrame) -> pd.DataFrame:
    """Mean transfer time of each class in each run and source."""
    run = [
        key for key in ("parameter", "value", "environment", "tcp_flows", "seed") if key in flows
    ]
    table = flows.groupby(["source", *run, "flow_class"])["transfer_time"].mean()
    return table.unstack()  # noqa: PD010


def published(table: int) -> pd.DataFrame:
    return pd.read_csv(Path(validation.__file__).parent / f"published/yang2001_table{table}.csv")


# ------------------------------------------------ packets


@pytest.mark.parametrize("case", [case for case in CASES if case not in ENDLESS | MEANS])
def test_packets_of_every_transfer_add_up(case: str) -> None:
    """Data packets but for those sent again are the size; none got lost but in R1's queue."""
    flows = transfers(case)
    done = flows["transfer_time"].notna()
    waiting = flows["sent"] - flows["dropped"] - flows["received"]
    assert (waiting[done] == 0).all()
    assert (waiting[~done] >= 0).all()
    tcp, udp = (flows[done & (flows["protocol"] == protocol)] for protocol in ("TCP", "UDP"))
    segments = np.ceil(tcp["size"] / tcp["packet"])
    assert (tcp["sent"] - tcp["resent"] == segments).all()
    assert (tcp["received"] >= segments).all()
    sent = udp["sent"] if "parameter" in udp else udp["received"]  # `finished sent` is one of them
    assert (sent >= np.ceil(udp["size"] / udp["udp_packet"])).all()
    assert (flows["allowed_time"][done] <= flows["transfer_time"][done] + 0.1).all()
    assert (flows.loc[done & (flows["mechanism"] == "be"), "stops"] == 0).all()


@pytest.mark.parametrize("case", [case for case in CASES if case not in ENDLESS | MEANS])
def test_no_run_carries_more_than_its_link(case: str) -> None:
    """Bytes that left R1 fit into the time until the last flow ended, and 5 s to drain."""
    flows = transfers(case)
    if flows["transfer_time"].isna().any():
        pytest.skip("runs that were ended do not say when")
    size = np.where(flows["protocol"] == "TCP", flows["packet"], flows["udp_packet"])
    flows["bits"] = 8 * flows["received"] * size
    run = [
        key
        for key in flows
        if key in {"parameter", "value", "environment", "discipline", "size", "tcp_flows", "seed"}
    ]
    total = flows.groupby(run).agg(
        bits=("bits", "sum"), end=("transfer_time", "max"), rate=("bandwidth", "first")
    )
    # The start is up to 0.01 s (1 s where it is varied) after 0.
    assert (total["bits"] <= total["rate"] * (total["end"] + 6)).all()


@pytest.mark.parametrize("case", [case for case in CASES if case in ENDLESS])
def test_packets_of_endless_flows_add_up(case: str) -> None:
    shares = evidence.table(f"yang2001/{case}", "shares")
    assert (shares["arrived"] == shares[["dropped", "departed", "waiting"]].sum(axis=1)).all()
    assert (shares["waiting"] >= 0).all()
    run = [key for key in ("parameter", "value", "environment", "seed") if key in shares]
    waiting = shares.groupby([*run, "time"])["waiting"].sum()
    assert waiting.max() <= (200 if case == "sensitivity-shares" else 50)
    grown = shares.sort_values("time").groupby([*run, "flow"])["departed"].diff().dropna()
    assert (grown >= 0).all()


# ------------------------------------------------ Y01, Y02: Table 1 and Fig. 2


def test_every_udp_flow_ends_before_every_tcp_flow() -> None:
    """Y01, in each of 25 runs."""
    flows = pd.concat([transfers("transfer-times"), transfers("transfer-times-100mb")])
    last = flows.groupby(["size", "seed", "protocol"])["transfer_time"].agg(["min", "max"])
    udp, tcp = last.xs("UDP", level="protocol"), last.xs("TCP", level="protocol")
    assert len(udp) == 25
    assert (udp["max"] < tcp["min"]).all()


@pytest.mark.parametrize(
    ("protocol", "size", "low", "high"),
    [
        ("UDP", 1e5, 1.02, 1.07),
        ("UDP", 1e6, 0.995, 1.01),
        ("UDP", 1e7, 1.0, 1.01),
        ("UDP", 1e8, 1.0, 1.005),
        ("TCP", 1e7, 0.92, 1.0),
        ("TCP", 1e8, 0.97, 1.01),
        # Short transfers depend on the first seconds, which the paper leaves open: not reproduced.
        ("UDP", 1e4, 0.65, 0.78),
        ("TCP", 1e4, 0.4, 0.6),
        ("TCP", 1e5, 0.65, 0.9),
        ("TCP", 1e6, 0.68, 0.85),
    ],
)
def test_mean_times_beside_table_1(protocol: str, size: float, low: float, high: float) -> None:
    printed = published(1).query("protocol == @protocol and size_bytes == @size")
    case = "transfer-times-100mb" if size == 1e8 else "transfer-times"
    flows = transfers(case).query("protocol == @protocol and size == @size")
    ratio = flows.groupby("seed")["transfer_time"].mean() / printed["transfer_time_s"].mean()
    assert low < ratio.mean() < high


def test_share_of_tcp_falls_below_one_percent() -> None:
    """Y02, in each of five runs; below 1 % from 50 s on, where the paper says 100 s."""
    shares = evidence.table("yang2001/bandwidth-shares", "shares")
    shares["bytes"] = shares["departed"] * np.where(shares["protocol"] == "TCP", 1000, 210)
    total = shares.groupby(["seed", "time", "protocol"])["bytes"].sum().unstack()  # noqa: PD010
    share = (total["TCP"] / total.sum(axis=1)).unstack("seed")  # noqa: PD010
    assert (share.loc[1] > 0.1).all()
    assert (share.loc[[1, 2, 5, 10, 20, 50, 100]].diff().dropna() < 0.001).all().all()
    assert (share.loc[50:] < 0.01).all().all()


# ------------------------------------------------ Y03-Y08: Table 4


@pytest.mark.parametrize(("case", "source"), crossed("cc-cc", "ts-ts", "cc-be", "ts-be"))
def test_regulated_flows_end_by_priority(case: str, source: int) -> None:
    """Y03, Y04, Y05: TCP in every run; UDP in the mean, and by slots in every run."""
    table = means(transfers(case)).loc[source]
    assert (table[TCP].diff(axis=1).iloc[:, 1:] > 0).all().all()
    assert table["UDP3"].mean() < table["UDP4"].mean()
    if case.startswith("ts"):
        both = table.dropna()
        assert (both["UDP3"] < both["UDP4"]).all()


def test_slots_hardly_depend_on_the_discipline() -> None:
    """Y04: means within 9 % (TCP1 15 %); the paper's within 3 % (TCP1 1 %)."""
    cases = {d: means(transfers(f"ts-ts-{d}")).groupby("source").mean() for d in DISCIPLINES}
    table = pd.concat(cases)
    spread = table.groupby("source").max() / table.groupby("source").min() - 1
    assert (spread.drop(columns="TCP1") < 0.09).all().all()
    assert (spread["TCP1"] < 0.16).all()


@pytest.mark.parametrize(("case", "source"), [(case, 2) for case, _ in crossed("cc-be", "ts-be")])
def test_best_effort_udp_is_fastest(case: str, source: int) -> None:
    """Y05, by a factor of two and more; under SFQ only in the mean, and not far."""
    table = means(transfers(case)).groupby("source").mean()
    if case.endswith("sfq"):
        assert table.loc[source, UDP].mean() < 0.9 * table.loc[source, TCP].mean()
    else:
        best = table.loc[source, UDP].max()
        assert best < 0.5 * min(table.loc[1].min(), table.loc[source, TCP].min())


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_best_effort_knows_no_priority(discipline: str) -> None:
    """Y06: equal means, but UDP is faster than TCP in each seed, 3.9 to 8.1 times (the paper: 4 to 12).

    Under SFQ 1.4 to 2.7 times: the seed draws the flows that share a bucket.
    """
    table = means(transfers(f"be-be-{discipline}"))
    mean = table.groupby("source").mean()
    assert (mean[TCP].max(axis=1) / mean[TCP].min(axis=1) < 1.1).all()
    by_seed = table.groupby(["source", "seed"]).mean()
    faster = by_seed[TCP].min(axis=1) / by_seed[UDP].max(axis=1)
    low, high = (1.4, 2.7) if discipline == "sfq" else (3.9, 8.1)
    assert faster.between(low, high).all()


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_control_by_congestion_is_faster(discipline: str) -> None:
    """Y07 as the text has it, in the mean of every class; Table 4 itself says it of some only."""
    cc, ts = (
        means(transfers(f"{name}-{discipline}")).groupby("source").mean()
        for name in ("cc-cc", "ts-ts")
    )
    assert (cc < ts).all().all()


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_udp_beats_tcp_of_its_priority_but_for_slots(discipline: str) -> None:
    """Y08: as in Table 4, UDP3 loses to TCP3 in most runs of ts/ts."""
    table = means(transfers(f"ts-ts-{discipline}"))
    both = table[table["UDP4"].notna()]
    assert (both["UDP4"] < both["TCP4"]).all()
    if discipline in {"drr", "sfq"}:
        assert (table["UDP3"] > table["TCP3"]).all()
    if discipline != "sfq":
        table = means(transfers(f"cc-cc-{discipline}"))
        both = table[table["UDP4"].notna()]
        assert (table["UDP3"] < table["TCP3"]).all()
        assert (both["UDP4"] < both["TCP4"]).all()


@pytest.mark.parametrize("discipline", DISCIPLINES)
def test_control_by_congestion_fluctuates_more(discipline: str) -> None:
    """Y09, Y13: spread of a class over ratios and seeds; of TCP1 alone it is the other way round."""
    cc, ts = (means(transfers(f"{name}-{discipline}")).loc[1].std() for name in ("cc-cc", "ts-ts"))
    rest = [*TCP[1:], *UDP]
    assert (cc[rest] > ts[rest]).all()
    assert cc["TCP1"] < ts["TCP1"]


# ------------------------------------------------ Y10, Y14, Y15, Y16


def test_small_transfers_by_slots_come_first_served() -> None:
    """Y10: the n-th flow to end is the n-th of its source; the time grows linearly with n."""
    flows = transfers("small-fcfs")
    chosen = flows[(flows["environment"] == "ts/ts") & (flows["tcp_flows"] == 90)]
    for _, run in chosen.groupby(["seed", "source"]):
        assert run.sort_values("flow")["transfer_time"].is_monotonic_increasing
        for _, part in run.groupby("protocol"):  # a UDP flow is slower than its slots
            assert np.corrcoef(np.arange(len(part)), part["transfer_time"])[0, 1] > 0.999


def test_small_transfers_by_congestion_know_priorities_with_exceptions() -> None:
    """Y16: means are in order, runs are not all."""
    flows = transfers("small-fcfs")
    table = means(flows[flows["environment"] == "cc/cc"])
    order = table[TCP].diff(axis=1).iloc[:, 1:] > 0
    assert table[TCP].mean().is_monotonic_increasing
    assert 0.3 < order.all(axis=1).mean() < 0.95


def test_long_turns_come_first_served() -> None:
    """Y14: with 64 times the slots the priority says nothing; between, it orders."""
    table = means(transfers("slots-per-turn")).groupby("value").mean()
    assert table.loc[64.0, TCP].max() / table.loc[64.0, TCP].min() < 1.05
    assert table.loc[1.0, TCP].is_monotonic_increasing


def test_turns_below_the_round_trip_waste_nothing_when_acknowledgements_are_heard() -> None:
    """Y14: no TCP flow sends anything twice at 1/64, against what Section 5.6 says."""
    flows = transfers("slots-per-turn").query("value == 0.015625 and protocol == 'TCP'")
    assert flows["resent"].sum() == 0
    assert flows["transfer_time"].notna().all()


def test_turns_below_the_round_trip_starve_a_sender_that_does_not_listen() -> None:
    """Y14: as Section 5.6 says, at 1/64 and 1/16 of the slots; not at 1."""
    tcp = transfers("slots-per-turn-acks-lost").query("protocol == 'TCP'")
    starved = tcp["transfer_time"].isna().groupby(tcp["value"]).mean()
    again = tcp["resent"].groupby(tcp["value"]).sum() / tcp["sent"].groupby(tcp["value"]).sum()
    assert starved[0.015625] > 0.7
    assert starved[0.0625] > 0.5
    assert starved[1.0] == 0
    assert again[0.015625] > again[0.25] > again[4.0]


@pytest.mark.parametrize("environment", ["cc/cc", "ts/ts"])
def test_fast_ageing_is_best_effort(environment: str) -> None:
    """Y15: TCP1's lead over TCP4 shrinks from a half and more to some percent."""
    table = means(transfers("priority-ageing")).groupby(["environment", "value"]).mean()
    lead = 1 - table["TCP1"] / table["TCP4"]
    assert lead[environment, 10] < 0.1
    assert lead[environment, 0] > 0.6
    ages = [10, 30, 100, 300, 1000]
    assert (np.diff([lead[environment, age] for age in ages]) > 0).all()


def test_low_priorities_starve_without_ageing() -> None:
    """Y15: by congestion control, where priority 1 never ends; by slots nobody starves."""
    shares = evidence.table("yang2001/priority-ageing-endless", "shares").query("protocol == 'TCP'")
    index = ["environment", "value", "priority", "time"]
    mean = shares.groupby(index)["departed"].mean().unstack()  # noqa: PD010
    late = mean[1000] - mean[500]
    assert late["cc/cc", 0, 4] < 0.001 * late["cc/cc", 0, 1]
    assert late["cc/cc", 10, 4] > 0.3 * late["cc/cc", 10, 1]
    assert late["ts/ts", 0, 4] > 0.03 * late["ts/ts", 0, 1]
