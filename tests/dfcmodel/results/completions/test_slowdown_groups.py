"""Slowdowns by size."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import (
    CBR,
    PFC,
    Fabric,
    Flow,
    Fluid,
    Packets,
    Scenario,
    chain,
    flows_from,
    simulate,
    slowdowns,
)
from dfcmodel.lossless import leaf_spine
from responsefn import FixedRate

FABRIC = Fabric(leaf_spine(2, 2, hosts=4), buffer="1 MB", discipline=PFC(counts="switch"))


@pytest.fixture(scope="module")
def run():
    """Return a run of 30 flows to one host, of 1 to 30 packets, the last of which does not end."""
    sizes = [float(n) for n in range(1, 30)] + [1e6]
    flows = flows_from(
        [FABRIC.hosts[1 + n % 7] for n in range(30)],
        [FABRIC.hosts[0]] * 30,
        sizes,
        source=FixedRate(),
        links=FABRIC.links,
    )
    return simulate(FABRIC.scenario("incast", flows, 1e-3), Packets(seed=1), sample=1e-3)


def test_groups_have_the_quantiles_of_their_transfers(run) -> None:
    found = slowdowns(run, [0, 10, 29])
    times = run.completion_times()
    small = times.slowdown.values[:10]
    row = found.table.iloc[0]
    assert (row["transfers"], row["up to"], found.unfinished) == (10, 10, 1)
    assert row["median"] == np.median(small)
    assert row["99 %"] == np.quantile(small, 0.99)
    assert row["largest"] == small.max()
    assert found.table["transfers"].tolist() == [10, 19]
    assert found.values.min() >= 1.0 - 1e-12  # rounding errors of the quotient


def test_groups_without_limits_have_as_many_transfers_each(run) -> None:
    counts = slowdowns(run).table["transfers"]
    assert len(counts) == 10
    assert counts.sum() == 29
    assert counts.max() - counts.min() <= 2  # 29 transfers


def test_transfers_outside_of_the_limits_are_left_out(run) -> None:
    assert slowdowns(run, [5, 7]).sizes.tolist() == [6.0, 7.0]


def test_the_figure_shows_the_quantiles(run) -> None:
    axes = slowdowns(run).plot()
    assert [line.get_label() for line in axes.lines] == ["median", "95 %", "99 %"]
    assert axes.get_xscale() == "log"
    rows = slowdowns(run).summary()
    assert rows["transfers"] == "29 complete, 1 not"


def test_nothing_complete_is_shown_too() -> None:
    links = chain(2, rate=1e3, delay=0.1, buffer=10)
    flow = Flow("a", (1, 2), CBR(9.0), size=1000)
    found = slowdowns(simulate(Scenario("late", links, [flow], 0.5), Fluid()))
    assert found.unfinished == 1
    assert len(found.table) == 0
    found.plot()


@pytest.mark.parametrize("limits", [[5], [5, 5], [5, 3], [[1, 2], [3, 4]], [-1, 2]])
def test_bad_limits_are_refused(run, limits) -> None:
    with pytest.raises(ValueError, match="limits"):
        slowdowns(run, limits)


def test_a_run_without_transfers_is_refused() -> None:
    links = chain(2, rate=1e3, delay=0.1, buffer=10)
    run = simulate(Scenario("endless", links, [Flow("a", (1, 2), CBR(9.0))], 0.5), level="fluid")
    with pytest.raises(ValueError, match="run of 'endless': has no flow of finite size"):
        slowdowns(run)
