"""Sizes of flows from published distributions, and traffic at a load."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import Cable, Fabric, FlowSizes, TrafficOptions, flow_sizes, random_traffic
from dfcmodel.lossless import leaf_spine
from responsefn import FixedRate

FABRIC = Fabric(leaf_spine(4, 2, hosts=4), Cable("100Gbps"), Cable("400Gbps"))
NAMES = "web search", "data mining", "hadoop"
WEB_SEARCH, DATA_MINING, HADOOP = map(flow_sizes, NAMES)
GIVEN = {"source": FixedRate(), "links": FABRIC.links}


@pytest.mark.parametrize("sizes", [WEB_SEARCH, DATA_MINING, HADOOP], ids=lambda each: each.name)
def test_means_are_those_of_drawn_sizes(sizes: FlowSizes) -> None:
    """Midpoints of a million equal parts, and of their packets, to the size of a part's largest error."""
    drawn = sizes.quantiles((np.arange(10**6) + 0.5) / 10**6)
    assert drawn.mean() == pytest.approx(sizes.mean, rel=1e-4)
    for size in (1000.0, 4096.0):
        packets = np.maximum(1.0, np.ceil(drawn / size)).mean()
        assert packets == pytest.approx(sizes.mean_packets(size), rel=1e-3)


def test_published_shares() -> None:
    """Half of the flows of a web search are below 100 kB, 80 % of those of data mining at most 10 kB (VL2, Fig. 2)."""
    assert WEB_SEARCH.quantiles(0.53) == 80e3
    assert DATA_MINING.quantiles(0.8) == 1e4
    assert HADOOP.quantiles(0.5) == 700


def test_traffic_has_its_load_and_random_pairs() -> None:
    """Seven standard deviations of a Poisson number, and of the mean of as many draws."""
    sizes = FlowSizes("short", (1e3, 1e5), (0.0, 1.0))
    flows = random_traffic(FABRIC.hosts, sizes, 0.4, 0.05, **GIVEN, options=TrafficOptions(seed=3))
    mean = sizes.mean_packets(1500.0)
    expected = 0.4 * 16 * 100e9 / 12e3 * 0.05 / mean
    assert abs(len(flows) - expected) < 7 * np.sqrt(expected)
    packets, starts = flows.numbers("size"), flows.numbers("start")
    assert packets.mean() == pytest.approx(mean, rel=7 * 0.6 / np.sqrt(expected))
    assert (np.diff(starts) >= 0).all()
    assert starts[-1] < 0.05
    paths = flows.paths
    source, target = paths.first, paths.places[paths.begin + paths.counts - 1]
    assert (source != target).all()
    for ends in (source, target):
        counts = np.unique(ends, return_counts=True)[1]
        assert len(counts) == 16
        assert np.abs(counts - len(flows) / 16).max() < 7 * np.sqrt(len(flows) / 16)


def test_a_seed_repeats_the_traffic() -> None:
    one, same, other = (
        random_traffic(FABRIC.hosts, sizes, 0.4, 0.01, **GIVEN, options=TrafficOptions(seed=seed))
        for seed, sizes in ((1, WEB_SEARCH), (1, "web search"), (2, WEB_SEARCH))
    )
    assert one == same
    assert len(one) != len(other) or one != other
