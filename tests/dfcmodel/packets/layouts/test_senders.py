"""Flows in the arrays of the engine: rows of equal senders, bit maps, first events."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.stats import ks_2samp

from dfcmodel import CBR, OnOff, Packets
from dfcmodel.packets.engine import begin_run
from dfcmodel.packets.layouts.senders import lay_out_flows
from responsefn import CUBIC, NewReno
from responsefn.responses.rule_events import signatures_of
from tests.dfcmodel.packets.conftest import plan_of


def test_equal_senders_differ_in_routes_starts_and_bit_maps_alone(one_link) -> None:
    (flow,) = one_link.flows
    sources = (NewReno(), NewReno(), CUBIC(), CBR(5.0))
    flows = tuple(
        replace(flow, name=f"{n}", source=source, start=0.1 * n, max_window=40.0)
        for n, source in enumerate(sources)
    )
    plan = plan_of(replace(one_link, flows=flows), Packets(seed=1, recovery="sack"))
    signatures = signatures_of(source for source in sources[:3])
    rows, rules, bits, _ = lay_out_flows(plan, signatures)
    assert rows["due"].tolist() == [0.0, 0.1, 0.2, -1.0]
    assert rows["selective"][:3].all()
    own = {"way", "turn", "end", "due", "bits", "rule"}
    assert all(
        rows[0][name] == rows[1][name] for name in ("kind", "size", "most", "cwnd", "bit_mask")
    )
    differ = [
        name
        for name in rows.dtype.names
        if not np.array_equal(rows[0][name], rows[1][name], equal_nan=True)
    ]
    assert set(differ) == own
    maps = (rows["bit_mask"][:3] + 1) // 8 * 2  # received, and acknowledged selectively
    assert np.diff(rows["bits"][:3]).tolist() == maps[:2].tolist()
    assert len(bits) > maps.sum()
    assert rows["gap"][3] == 0.2
    assert rows["rule"].tolist() == [0, 1, 2, -1]  # a source without a rule has no row
    assert (rules[0] == rules[1], rules["cwnd"].tolist()) == (True, rows["cwnd"][:3].tolist())


def test_periods_drawn_anew_have_the_same_law(one_link) -> None:
    """Packets of 1000 sources in 0.1 s: the same distribution, with ten copies on the way and without."""
    (flow,) = one_link.flows
    bursts = OnOff(100.0, 0.03, 0.07, random=True)
    link = replace(one_link.links[0], rate=1e6, buffer=1e4)
    flows = tuple(replace(flow, name=f"{n}", source=bursts) for n in range(1000))
    busy = replace(one_link, links=(link,), flows=flows, duration=0.3)
    sent = []
    for copies in (False, True):
        run, rng = begin_run(plan_of(busy, Packets(seed=4))), np.random.default_rng(1)
        assert run.advance(20)
        before = run.layout.arrays["flow"]["sent"].astype(float)
        for n in range(20, 30):
            run = run.fork(rng) if copies else run
            assert run.advance(n + 1)
        sent.append(run.layout.arrays["flow"]["sent"] - before)
    assert (sent[0] != sent[1]).mean() > 0.5
    assert ks_2samp(*sent).pvalue > 1e-3
    # four standard errors of the difference of two means
    assert abs(sent[0].mean() - sent[1].mean()) < 4.0 * np.sqrt(2.0 * sent[0].var() / 1000)


def test_idle_times_are_drawn_anew_once_transfers_have_begun(one_link) -> None:
    """A copy draws the exponential rest of idle times that have begun, and leaves starts and constant ones."""
    (flow,) = one_link.flows
    kinds = ((0.0, True), (0.0, False), (1.5, True))
    flows = tuple(
        replace(flow, name=f"{n}", start=start, size=5.0, idle=1.0, random_idle=random)
        for n, (start, random) in enumerate(kinds)
    )
    run = begin_run(plan_of(replace(one_link, flows=flows), Packets(seed=1)))
    assert run.advance(20)
    before = run.layout.arrays["flow"]["due"].copy()
    after = run.fork(np.random.default_rng(1)).layout.arrays["flow"]["due"]
    assert (before >= 0.0).all()
    assert (after != before).tolist() == [True, False, False]
    assert after[0] > 0.2
