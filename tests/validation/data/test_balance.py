"""Packets in are packets out, dropped, or still there, and no link or host is faster than it can be."""

from __future__ import annotations

import numpy as np
import pytest

from validation import evidence
from validation.generate.cases import Case
from validation.generate.linux import cases as linux_cases
from validation.generate.linux import queue_cases
from validation.generate.linux.program import MAX_LATENESS, HostKernel
from validation.networks.network_runs import CASES
from validation.networks.queue_measures import PACKET

# Packets in are packets out, dropped, or still there: in every bundled run that counts them.


# A balance holds wherever a table has its columns: the first sum is the second, and what is left
# over lies between the two bounds (packets in service or on a link, which the table does not count;
# in a part of a run what was under way at its ends, a window of some 400 packets at p = 1e-5).
BALANCES = {
    "link of a dumbbell": ("queued_before arrivals", "departures drops queued_after", (0, 1)),
    "link": ("queued_begin arrivals", "departures drops queued_end", (0, 1)),
    "flow": (
        "total_sent",
        "total_delivered total_queue_drops total_random_drops total_stored",
        (0, 0),
    ),
    "pause, queue 1 in": ("arrivals", "accepted_1 dropped_1", (0, 0)),
    "pause, queue 1 out": ("accepted_1", "sent_1 left_1", (0, 0)),
    "pause, queue 2 in": ("sent_1", "accepted_2 dropped_2", (0, 0)),
    "pause, queue 2 out": ("accepted_2", "delivered left_2", (0, 0)),
    "bridges, in a part of the run": ("arrivals_1", "dropped_1 arrivals_2", (-11, 11)),
    "bridges, host": (
        "total_host_offered",
        "total_host_dropped total_host_sent total_host_left",
        (0, 0),
    ),
    "bridges, link A": (
        "total_host_sent",
        "total_on_link_a total_accepted_1 total_dropped_1",
        (0, 0),
    ),
    "bridges, queue 1": ("total_accepted_1", "total_sent_1 total_left_1", (0, 0)),
    "bridges, queue 2 in": ("total_sent_1", "total_accepted_2 total_dropped_2", (0, 0)),
    "bridges, queue 2 out": ("total_accepted_2", "total_sent_2 total_left_2", (0, 0)),
    "bridges, received": ("total_sent_2", "total_received", (0, 0)),
    "node": ("arrivals", "departures target_drops background_drops queued", (0, 1)),
    "node under DFC": ("arrivals", "departures target_drops background_drops stored", (0, 1)),
    "node, queue not counted": (
        "arrivals",
        "departures target_drops background_drops",
        (0, 1801),  # a full buffer and the packet in service
    ),
    "flow under DFC": ("offered", "in_host in_nodes on_links dropped received", (0, 0)),
    "forced loss, in a part of the run": ("sent", "delivered drops", (-600, 600)),
    "endless flow": ("arrived", "dropped departed waiting", (0, 0)),
    "transfer": ("sent", "received dropped", (0, 10_000)),  # where transfer times are given
}
RING = "takano2006/loaded-node"
PACKETS = {
    f"packets/{name}-ns2"
    for name in ("dumbbells", "parking-lots", "delayed-acks", "takano2006", "random-networks")
}
"""Acknowledgements and drops alone, equal to those of our packet engine one by one."""
SHARED = {"packets/sharing-ns3"} | {
    f"packets/sharing-{name}-ns3" for name in ("rfc6937", "departures", "bbr-rfc6937")
}
MANAGED = {"packets/codel-ns3", "packets/pie-ns3", *SHARED}
"""Goodputs and drops, without what was sent."""
EXPLAINED = "packets/explained-claims"
"""Differences between the fluid and packets, whose parts add up: tests/validation/test_records.py."""
CLASSES = "yang2001/all-ratios"
"""Mean times of classes; the packets of its runs were balanced when they were read."""
UNSTATED = {f"{paper}/unstated-parameters" for paper in ("kaneko2007", "yang2001", "zheng2002")}
"""Designs over what papers leave open: means of their runs, whose packets are not kept."""
REGULATED = "yang2001/regulated-sources"
"""More rows of one of these designs."""
OWN_LINKS = "takano2006/own-links"
"""Efficiencies and drops, without what was sent."""
LINUX = {case for case in evidence.cases() if case.startswith("linux/")}
"""What the receivers read is counted in bytes: below."""
SEEDS = "packets/seeds"
"""What claims measure of runs, without their packets."""
FABRICS = {"htsim/roce", "htsim/uec", "ns3/rdma"}
"""When flows are complete."""
WITHOUT = {
    *FABRICS,
    SEEDS,
    *UNSTATED,
    REGULATED,
    OWN_LINKS,
    CLASSES,
    "zheng2002/tfrc-receiver-trace",
    RING,
    EXPLAINED,
    *CASES,
    *MANAGED,
    *PACKETS,
    *LINUX,
}
"""Others: below."""


@pytest.mark.parametrize("case", sorted(set(evidence.cases()) - WITHOUT))
def test_packets_balance(case: str) -> None:
    applied = []
    for file in evidence.provenance(case)["files"]:
        frame = evidence.table(case, file.split(".")[0])
        for name, (into, out, (low, high)) in BALANCES.items():
            columns = into.split(), out.split()
            needed = {*columns[0], *columns[1], *(["transfer_time"] if name == "transfer" else [])}
            if needed <= set(frame.columns):
                left = frame[columns[0]].sum(axis=1) - frame[columns[1]].sum(axis=1)
                assert left.between(low, high).all(), (
                    f"{file}, {name}: {left.min()} to {left.max()}"
                )
                applied.append(name)
    assert applied, "no table of this case counts packets"


def test_ring_keeps_its_packets() -> None:
    """Nothing enters or leaves; the table does not count the packet in service in each node."""
    frame = evidence.table(RING)
    runs = ["mode", "link_rate", "hot", "seed"]
    nodes = evidence.provenance(RING)["parameters"]["nodes"]["value"]
    counted = frame[["waiting", "on_link"]].sum(axis=1).groupby([frame[c] for c in [*runs, "time"]])
    assert (counted.size() == nodes).all()
    totals = counted.sum().unstack("time")
    assert (totals.max(axis=1) - totals.min(axis=1)).between(0, nodes).all()
    alone = totals.loc["alone"]
    missing = -alone.sub(alone.index.get_level_values("hot"), axis=0)
    assert missing.min().min() >= 0
    assert missing.max().max() <= nodes


@pytest.mark.parametrize("case", CASES)
def test_packets_that_were_neither_dropped_nor_acknowledged_fit_into_the_window(case: str) -> None:
    """Or they came twice. The first packet has the number 0; those sent again without need were acknowledged before.

    Duplicate ACKs let a recovering sender send up to a window more.
    """
    flows = evidence.table(case)
    left = flows["sent"] - flows["drops"] - flows["acknowledged"]
    windows = [
        2.0 * network.scenario.flows[flow].max_window
        for network, flow in zip(flows["network"].map(CASES[case]), flows["flow"], strict=True)
    ]
    assert (left >= 1).all()
    assert (left - flows["sent_again"] <= windows).all()
    assert (flows["acknowledged_since"] <= flows["acknowledged"]).all()
    assert (flows["first_drop"].isna() == (flows["drops"] == 0)).all()


# Runs of Linux in virtual time: what was sent is read, dropped or in flight, and nothing but the window limited it.


BUNDLED = [case.name for case in linux_cases.CASES if case.name in set(evidence.cases())]
DATA = 1448
"""Bytes of data in a packet: 1500 less IP's header of 20, TCP's of 20 and timestamps of 12."""
RECOVERY = 3
"""tcpi_ca_state."""
LATEST = 25_000
"""ns, or a twenty-fourth of a transmission where that is more: the clock advances a little whenever it is read.

The latest packet was 3 to 11 microseconds late in runs whose window was sampled each 10 ms, 21 where each 100 ms, and 28 on
a link whose transmissions take 774.
"""


@pytest.mark.parametrize("case", BUNDLED)
def test_packets_that_were_neither_dropped_nor_read_fit_into_the_window(case: str) -> None:
    runs = evidence.table(case, "runs")
    grouped = evidence.table(case, "windows").groupby(["run", "flow"])
    own = list(zip(runs["run"], runs["flow"], strict=True))
    largest = grouped["cwnd"].max().loc[own].to_numpy()
    state = grouped["state"].last().loc[own].to_numpy()
    # In recovery what lies behind a hole has arrived, and the receiver's program cannot read it: another window.
    largest = np.where(state == RECOVERY, 2, 1) * largest
    read = runs["bytes"].to_numpy() / DATA
    left = (runs["data_packets"] - runs["queue_drops"] - runs["losses"]).to_numpy() - read
    assert np.all(left >= 0)
    assert np.all(left <= largest + runs["dsacks"])


QUEUES = [case.name for case in queue_cases.CASES]
STANDSTILL = "linux/queue-red-harddrop"
"""In three of four runs nothing leaves the queue any more, so that what was dropped is not missed."""


def test_a_queue_that_drops_everything_does_not_recover() -> None:
    """Some packets a second are dropped and none leaves, up to the end of the run."""
    queues = evidence.table(STANDSTILL, "queues").set_index("time").groupby("run")
    still = {run for run, own in queues if own["left"].loc[5.0:].sum() == 0}
    assert still == {"seven-seen", "seven-drawn-1", "seven-drawn-3"}
    for run, own in queues:
        late = own["drops"].loc[40.0] - own["drops"].loc[5.0]
        assert (run in still) == (0 < late < 60 and own["packets"].loc[40.0] == 0)


@pytest.mark.parametrize("case", [case for case in QUEUES if case != STANDSTILL])
def test_what_the_kernel_counts_is_what_passed_its_queue(case: str) -> None:
    """Its drops and marks are those of the packets that came and left; some that were dropped last are not missed yet."""
    runs = evidence.table(case, "runs").groupby("run")[["queue_drops", "marks"]].sum()
    ends = evidence.table(case, "queues").groupby("run")[["drops", "marks", "packets"]].last()
    missing = ends["drops"] - runs["queue_drops"].reindex(ends.index)
    assert missing.between(0, 8).all()
    assert (ends["marks"] - runs["marks"].reindex(ends.index)).between(0, ends["packets"]).all()


@pytest.mark.parametrize("case", QUEUES)
def test_no_more_leaves_a_queue_than_its_link_takes(case: str) -> None:
    """The bucket of the shaper holds 1600 bytes, a fifteenth more than a packet; a packet waits at least until the one before it has left."""
    rates = {run["run"]: run["rate"] for run in _case(case).runs}
    queues = evidence.table(case, "queues")
    most = queues["run"].map(rates) * 0.1 / (8 * PACKET) + 2.0
    small = queues["time"] < 1.0  # opening a connection takes small packets
    assert (queues["left"] <= most)[~small].all()
    full = queues["least"] > 0
    assert (queues["left"] >= most - 4.0)[full & ~small].mean() > 0.98


def _case(name: str) -> Case:
    (case,) = (case for case in queue_cases.CASES if case.name == name)
    return case


@pytest.mark.parametrize("case", QUEUES)
def test_every_run_says_the_options_of_its_queue(case: str) -> None:
    settings = evidence.table(case, "settings")
    own = settings[settings["name"].str.startswith("queue/")]
    assert set(own["run"]) == {run["run"] for run in _case(case).runs}
    assert "queue/limit" in set(own["name"])


@pytest.mark.parametrize("case", BUNDLED + QUEUES)
def test_tables_agree_with_each_other(case: str) -> None:
    runs = evidence.table(case, "runs").set_index(["run", "flow"])
    drops = (
        evidence.table(case, "drops").groupby(["run", "flow", "cause"]).size().unstack(fill_value=0)
    )
    causes = (("queue", "queue_drops"), ("loss", "losses"))
    for cause, column in causes if case in BUNDLED else causes[:1]:
        counted = drops[cause] if cause in drops else 0 * runs[column]
        own = counted.reindex(runs.index, fill_value=0).to_numpy()
        assert np.array_equal(own, runs[column].to_numpy()), column
    seconds = evidence.table(case, "seconds").groupby(["run", "flow"])["bytes"].sum()
    assert np.array_equal(seconds.loc[runs.index].to_numpy(), runs["bytes"].to_numpy())


@pytest.mark.parametrize("case", BUNDLED)
def test_the_link_is_on_time(case: str) -> None:
    """None was overtaken, and none was late; the least round trip of a second flow may have a full queue in it.

    In real time a packet may be late by as much as runs are accepted with, one way and the other: the emulator counts
    from when a packet should have come to it.
    """
    (given,) = [each for each in linux_cases.CASES if each.name == case]
    in_real_time = isinstance(given.program, HostKernel)
    transmission = 1e9 * 1500 * 8 / given.runs[0]["rate"]
    latest = 1e9 * MAX_LATENESS if in_real_time else max(LATEST, transmission / 24)
    trip = 2e6 * given.runs[0]["delay"]
    waits = 1e6 * given.runs[0]["buffer"] * 1500 * 8 / given.runs[0]["rate"]
    runs = evidence.table(case, "runs")
    assert (runs["lateness"] <= latest).all()
    assert (runs["reordered"] == 0).all()
    longest = trip + np.where(runs["flow"] > 0, waits, 0) + 2_500
    early = 1e6 * MAX_LATENESS if in_real_time else 0.0
    assert runs["min_rtt"].between(trip - early, longest).all()


# Runs of htsim: no host sends or receives faster than its link.


BITS = {"htsim/roce": 8 * (4096 + 64), "htsim/uec": 8 * 4096}
"""Of a packet with its header."""


@pytest.mark.parametrize("case", BITS)
@pytest.mark.parametrize("end", ["source", "target"])
def test_no_host_is_faster_than_its_link(case: str, end: str) -> None:
    flows = evidence.table(case, "flows")
    rates = evidence.table(case, "runs").set_index("run")["access"]
    seeds = [each for each in ("seed",) if each in flows]
    hosts = (
        flows.groupby(["run", *seeds, end])
        .agg({"packets": "sum", "finish": "max"})
        .reset_index("run")
    )
    assert (hosts["packets"] * BITS[case] / hosts["run"].map(rates) < hosts["finish"]).all()


def test_transfers_of_ultra_ethernet_end_after_they_start() -> None:
    """The shortest time is that of a transfer that is alone, with its ACK."""
    flows = evidence.table("htsim/uec", "flows")
    alone = 8 * 4096 * flows["packets"] / 100e9 + 4e-6
    assert (flows["finish"] - flows["start"] > alone).all()
    assert set(flows["seed"]) == {1, 2, 3}
    assert flows.groupby("run").size().mod(3).eq(0).all()
