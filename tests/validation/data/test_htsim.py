"""Runs of htsim: no host sends or receives faster than its link."""

from __future__ import annotations

import pytest

from validation import evidence

CASE = "htsim/roce"
BITS = 8 * (4096 + 64)
"""Of a packet with its header."""


@pytest.mark.parametrize("end", ["source", "target"])
def test_no_host_is_faster_than_its_link(end: str) -> None:
    flows = evidence.table(CASE, "flows")
    rates = evidence.table(CASE, "runs").set_index("run")["access"]
    hosts = flows.groupby(["run", end]).agg({"packets": "sum", "finish": "max"}).reset_index("run")
    assert (hosts["packets"] * BITS / hosts["run"].map(rates) < hosts["finish"]).all()
