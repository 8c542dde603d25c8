"""Bundled runs of the papers: what they cover, and that their tables agree with each other and with closed forms."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import validation
from validation import evidence
from validation.claims.takano2006 import studies
from validation.claims.zheng2002.loss_sweeps import RULES
from validation.generate.cases import Case
from validation.generate.kaneko2007 import parking_lot, sweeps

# takano2006's cases: balances, drops at full queues, simulators that agree.


TAKANO_CASES = [
    case
    for case in evidence.cases()
    if case.startswith("takano2006/")
    if {"flows", "nodes"}  # the chain's
    <= {file.partition(".")[0] for file in evidence.provenance(case)["files"]}
]
NS2 = [case for case in TAKANO_CASES if case.endswith("without-dfc")]
NS3 = [case for case in TAKANO_CASES if case not in NS2]


def rows(case: str, name: str, **chosen: object) -> pd.DataFrame:
    """Rows of a table with these values."""
    frame = evidence.table(f"takano2006/{case}", name)
    for column, value in chosen.items():
        frame = frame[frame[column] == value]
    return frame


def runs_of(case: str, name: str) -> list[str]:
    """Columns that tell the runs of a case apart."""
    record = evidence.provenance(case)["files"]
    index = next(about["index"] for file, about in record.items() if file.split(".")[0] == name)
    return [column for column in index if column not in {"time", "node", "flow"}]


def identical(one: pd.DataFrame | pd.Series, other: pd.DataFrame | pd.Series) -> bool:
    return bool((one == other).all(axis=None)) and len(one) == len(other)


def test_ensembles_have_the_runs_that_were_asked_for() -> None:
    """16 up to 3.7 Gb/s, 8 at 12.3 Gb/s, 3 above; with DFC 5 seeds of the default, 3 above."""
    asked = {"1": 16, "2": 16, "3": 16, "5": 3, "6": 3}
    for scenario in ("1", "2", "3", "4", "4s", "4l", "4r", "4n", "4v", "4v-small-buffer", "5", "6"):
        seeds = rows(f"scenario-{scenario}-without-dfc", "flows")["seed"].nunique()
        assert seeds >= asked.get(scenario, 8), scenario
    for scenario in ("1", "2", "3", "4", "4s", "4l", "4r", "4n", "4v", "5", "6"):
        sender = {"4r": "reno", "4n": "newreno", "4v": "ns3-vegas"}.get(scenario, "tahoe")
        reading = {"target_source": sender, "background_source": sender}
        flows = studies.rows(studies.Study(scenario).with_dfc_case, **reading)
        assert flows["seed"].nunique() >= (3 if scenario in {"5", "6"} else 5), scenario
        assert flows["time"].max() >= (1.5 if scenario in {"1", "2", "3"} else 0.5), scenario


@pytest.mark.parametrize("case", TAKANO_CASES)
def test_counters_of_a_run_agree(case: str) -> None:
    """What the links carried, by flow and time, is what left the nodes; drops are counted once.

    Exact, but for ns-2's departures, which are read a nanosecond after the last sample.
    """
    runs = runs_of(case, "flows")
    nodes = evidence.table(case, "nodes").groupby(runs)
    flows = evidence.table(case, "flows").groupby(runs)
    carried = evidence.table(case, "efficiency").groupby(runs)["link_packets"].sum()
    left = (nodes["departures"].sum() - carried).abs()
    assert left.max() <= (2 if case in NS2 else 0)
    drops = nodes[["target_drops", "background_drops"]].sum().sum(axis=1)
    assert identical(drops, flows["dropped"].sum())
    if case in NS2 and "losses.csv" in str(evidence.provenance(case)["files"]):
        assert identical(drops, evidence.table(case, "losses").groupby(runs)["dropped"].sum())


@pytest.mark.parametrize("case", NS2)
def test_ns2_drops_at_full_queues_where_flows_enter(case: str) -> None:
    """A limit of 1800 (400) drops what finds 1799 (399) waiting, at no other node than two."""
    nodes = evidence.table(case, "nodes")
    told = evidence.provenance(case)["parameters"]
    limit = nodes["buffer"] if "buffer" in nodes else told["limit_"]["value"]
    dropping = nodes["target_drops"] + nodes["background_drops"] > 0
    assert (nodes["peak_queued"] <= limit - 1).all()
    assert (nodes["peak_queued"] == limit - 1)[dropping].all()
    assert nodes.loc[dropping, "node"].isin([1, told["background enters at node"]["value"]]).all()
    assert identical(dropping, nodes["first_drop"].notna())


@pytest.mark.parametrize("case", NS3)
def test_ns3_drops_at_full_buffers_only(case: str) -> None:
    nodes = evidence.table(case, "nodes")
    buffer = evidence.provenance(case)["parameters"].get("buffer", {"value": 1800})["value"]
    dropping = nodes["target_drops"] + nodes["background_drops"] > 0
    assert identical(dropping, nodes["first_drop"].notna())
    if "buffers" not in nodes and "buffer" not in nodes:
        assert (nodes.loc[dropping, "peak"] == buffer).all()
        assert (nodes["peak"] <= buffer).all()


@pytest.mark.parametrize("tcp", ["reno", "newreno", "tahoe"])
def test_simulators_agree_on_the_chain_without_dfc(tcp: str) -> None:
    """Where nothing is random, ns-3's chain loses the packets that ns-2's loses.

    ns-2's trace prints six digits, hence a microsecond. It counts a packet when it starts on a
    link, ns-3 while it propagates: a packet per link of 29 at most, 1e-5 of 2.9 s. Tahoe goes back
    over packets that arrived; after the first drops its runs part ways by one packet, and that
    decides when the target backs off again.
    """
    chosen = {"link_rate": 370e6, "agent": tcp}
    ns2 = rows("traces-without-dfc", "nodes", **chosen).set_index("node")
    chosen = {"target_source": tcp, "host": "direct", "jitter": 0.0}
    ns3 = rows("fifo-370-in-ns3", "nodes", **chosen).set_index("node")
    assert ns3.loc[[1, 15], "first_drop"].to_numpy() == pytest.approx(
        ns2.loc[[1, 15], "first_drop"].to_numpy(), abs=1e-6
    )
    drops = ["target_drops", "background_drops"]
    apart = (ns2[drops] - ns3[drops]).abs()
    assert apart.loc[1].sum() == 0
    assert apart.max(axis=None) <= (1 if tcp == "tahoe" else 0)
    flows2 = rows("traces-without-dfc", "flows", link_rate=370e6, agent=tcp).set_index("flow")
    flows3 = rows("fifo-370-in-ns3", "flows", **chosen).set_index("flow")
    apart = (flows2 - flows3)[["sent", "resent", "timeouts", "dropped", "mean_efficiency"]].abs()
    if tcp == "tahoe":
        assert apart["resent"].max() <= 2
        assert apart["mean_efficiency"].max() < 0.03
    else:
        assert (apart.drop(columns="mean_efficiency") == 0).all(axis=None)
        assert apart["mean_efficiency"].max() < 2e-5


def test_windows_agree_between_the_simulators() -> None:
    """Every 10 ms; Reno and NewReno: 0.01 packets of ns-3's print, and one ACK at the sample."""
    for tcp in ("reno", "newreno"):
        ns2 = rows("traces-without-dfc", "windows", link_rate=370e6, agent=tcp)
        ns3 = rows("fifo-370-in-ns3", "hosts", target_source=tcp, host="direct", jitter=0.0)
        both = ns2.assign(time=ns2["time"].round(9)).merge(
            ns3.assign(time=ns3["time"].round(9)), on=["time", "flow"], suffixes=("_2", "_3")
        )
        assert len(both) == 600
        apart = (both["window_2"] - both["window_3"]).abs()
        assert apart.max() <= 1.01, tcp


def test_only_random_times_before_packets_spread_tahoe() -> None:
    """Of 0.83 for the target: 1e-5 by jittered starts, in both simulators; 0.1 by random times.

    Reno and NewReno lose once and stay within 0.01 either way.
    """
    flows = rows("randomness-without-dfc", "flows", flow="target")
    spread = flows.groupby(["agent", "jitter", "overhead"])["mean_efficiency"].agg(np.ptp)
    assert (spread.xs(20e-6, level="jitter") < 1e-5).all()
    random = spread.xs(20e-6, level="overhead").droplevel("jitter")
    assert random["tahoe"] > 0.1
    assert random[["reno", "newreno"]].max() < 0.01
    ns3 = rows("fifo-370-in-ns3", "flows", flow="target", host="direct", jitter=20e-6)
    means = ns3.groupby("target_source")["mean_efficiency"]
    assert (means.agg(np.ptp) < 1e-5).all()
    ns2 = flows[flows["jitter"] > 0].groupby("agent")["mean_efficiency"].mean()
    apart = (means.mean() - ns2).abs()
    assert apart[["reno", "newreno"]].max() < 2e-5


def test_vegas_overflows_400_packets_but_not_1800_for_some_thresholds() -> None:
    """D17's losses depend on what Vegas tolerates; the paper's pattern needs 30 or 100 times."""
    flows = rows("vegas-thresholds-without-dfc", "flows")
    lost = flows.pivot_table("dropped", "vegas", "buffer", "sum")
    assert (lost.loc[[1, 3, 10]] == 0).all(axis=None)
    assert (lost.loc[[30, 100], 1800] == 0).all()
    assert (lost.loc[[30, 100, 300], 400] > 0).all()
    shaped = rows("vegas-thresholds-with-dfc", "flows")
    assert (shaped["dropped"] == 0).all()
    means = shaped.pivot_table("mean_efficiency", ["vegas", "seed", "flow"], "buffer")
    assert identical(means[400], means[1800])


def test_two_stacks_deliver_the_same_under_dfc() -> None:
    """Shaped hosts hide the sender: ours and ns-3's TCP, with 2 and 10 packets at the start.

    2.2 %: eight packets more per round trip until the window is full, and the handshake.
    """
    flows = rows("dfc-370-two-stacks", "flows")
    assert (flows["dropped"] == 0).all()
    means = flows.groupby(["target_source", "initial", "flow"])["received"].mean()
    like = means["newreno", 2], means["ns3-newreno", 2]
    assert like[1].to_numpy() == pytest.approx(like[0].to_numpy(), rel=4e-3)
    assert means["ns3-newreno", 10].to_numpy() == pytest.approx(like[0].to_numpy(), rel=2.2e-2)


# kaneko2007's cases cover the slides; few loss events say so; goodput fits the link.


BUNDLED = [
    case for case in evidence.cases() if case.startswith("kaneko2007/") and "unstated" not in case
]
KANEKO_CASES: list[Case] = [*sweeps.CASES, *parking_lot.CASES]
SLIDES = ("reno", "fusion", "areno", "compound", "highspeed", "bic", "cubic")


def test_every_claim_has_a_case() -> None:
    claims = {claim for case in KANEKO_CASES for claim in case.claims}
    assert claims == {f"K{n:02d}" for n in range(1, 13)}


def test_both_orders_of_all_pairs_and_fast() -> None:
    ordered = {
        (run["rules"][0], run["rules"][1], case.program.tool)
        for case in KANEKO_CASES
        if case.claims == ("K03",)
        for run in case.runs
    }
    both = {(a, b) for a, b, _ in ordered}
    assert both == {(a, b) for a in (*SLIDES, "fast") for b in (*SLIDES, "fast")}


def test_ns2_has_ten_rules_and_ns3_eight() -> None:
    by_name = {case.name: {run["rules"][0] for run in case.runs} for case in KANEKO_CASES}
    ten = by_name["kaneko2007/loss-sweep-ns2"]
    assert ten == {
        *("reno", "highspeed", "bic", "cubic", "compound"),
        *("westwood", "htcp", "scalable", "vegas", "illinois"),
    }
    assert by_name["kaneko2007/loss-sweep-ns3"] == {*SLIDES, "fast"}


@pytest.mark.parametrize("case", KANEKO_CASES, ids=lambda case: case.name)
def test_runs_differ_and_their_times_are_jittered(case: Case) -> None:
    assert len({case.shard(run) for run in case.runs}) == len(case.runs)
    for run in case.runs:
        assert run["overhead"] == pytest.approx(12000 / run["rate"])
        assert len(set(run["starts"])) == len(run["starts"])


@pytest.mark.parametrize("case", BUNDLED)
def test_few_loss_events_say_so(case: str) -> None:
    flows = evidence.table(case, "flows")
    assert (flows["few_events"] == (flows["loss_events"] < 50)).all()


@pytest.mark.parametrize("case", BUNDLED)
def test_goodput_fits_the_link(case: str) -> None:
    """Acknowledged packets were delivered; a link carries no more than its rate."""
    flows, links = evidence.table(case, "flows"), evidence.table(case, "links")
    window = 7000  # acknowledged at the begin, delivered before it
    assert (flows["acked"] <= flows["delivered"] + window).all()
    assert np.allclose(flows["goodput_bits"], 12000 * flows["goodput"])
    if "utilisation" in links:
        assert links["utilisation"].max() < 1.001
        assert links["goodput_share"].max() < 1.05


# zheng2002's cases: balances, and what their notes say of their numbers.


ZHENG_CASES = [
    case for case in evidence.cases() if case.startswith("zheng2002/") and "unstated" not in case
]
DUMBBELLS = [case for case in ZHENG_CASES if "link.csv" in evidence.provenance(case)["files"]]
TRACE = "zheng2002/tfrc-receiver-trace"


def test_every_case_has_five_seeds() -> None:
    for case in ZHENG_CASES:
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


# What ns-2 says about yang2001: packets of every transfer, Table 1 and Fig. 2, orders of priority.


YANG_CASES = [case.partition("/")[2] for case in evidence.cases() if case.startswith("yang2001/")]
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
        if f"{environment}-{discipline}" in YANG_CASES
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


@pytest.mark.parametrize("case", [case for case in YANG_CASES if case not in ENDLESS | MEANS])
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


@pytest.mark.parametrize("case", [case for case in YANG_CASES if case not in ENDLESS | MEANS])
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


@pytest.mark.parametrize("case", [case for case in YANG_CASES if case in ENDLESS])
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
