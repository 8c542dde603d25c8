"""Runs of Linux in virtual time: what was sent is read, dropped or in flight, and nothing but the window limited it."""

from __future__ import annotations

import numpy as np
import pytest

from validation import evidence
from validation.generate.linux.cases import CASES

BUNDLED = [case.name for case in CASES if case.name in set(evidence.cases())]
DATA = 1448
"""Bytes of data in a packet: 1500 less IP's header of 20, TCP's of 20 and timestamps of 12."""
RECOVERY = 3
"""tcpi_ca_state."""
LATEST = 25_000
"""ns, a twenty-fourth of a transmission: the clock advances a little whenever it is read.

The latest packet was 3 to 11 microseconds late in runs whose window was sampled each 10 ms, 21 where each 100 ms.
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


@pytest.mark.parametrize("case", BUNDLED)
def test_tables_agree_with_each_other(case: str) -> None:
    runs = evidence.table(case, "runs").set_index(["run", "flow"])
    drops = (
        evidence.table(case, "drops").groupby(["run", "flow", "cause"]).size().unstack(fill_value=0)
    )
    for cause, column in (("queue", "queue_drops"), ("loss", "losses")):
        counted = drops[cause] if cause in drops else 0 * drops.iloc[:, 0]
        own = counted.reindex(runs.index, fill_value=0).to_numpy()
        assert np.array_equal(own, runs[column].to_numpy()), column
    seconds = evidence.table(case, "seconds").groupby(["run", "flow"])["bytes"].sum()
    assert np.array_equal(seconds.loc[runs.index].to_numpy(), runs["bytes"].to_numpy())


@pytest.mark.parametrize("case", BUNDLED)
def test_the_link_is_on_time(case: str) -> None:
    """None was overtaken, and none was late; the least round trip of a second flow may have a full queue in it."""
    (given,) = [each for each in CASES if each.name == case]
    trip = 2e6 * given.runs[0]["delay"]
    waits = 1e6 * given.runs[0]["buffer"] * 1500 * 8 / given.runs[0]["rate"]
    runs = evidence.table(case, "runs")
    assert (runs["lateness"] <= LATEST).all()
    assert (runs["reordered"] == 0).all()
    longest = trip + np.where(runs["flow"] > 0, waits, 0) + 2_500
    assert runs["min_rtt"].between(trip, longest).all()
