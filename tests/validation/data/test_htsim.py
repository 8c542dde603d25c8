"""Runs of htsim: no host sends or receives faster than its link."""

from __future__ import annotations

import pytest

from validation import evidence

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
