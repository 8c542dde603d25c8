"""Layouts: which ports need a box, and how long a window may last."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import Packets, dumbbell
from dfcmodel.packets.engine import run_engine
from dfcmodel.packets.layouts import lookahead
from dfcmodel.packets.layouts.lookahead import ordered_ports, windows
from tests.dfcmodel.packets.conftest import plan_of, random_scenario


def test_only_merging_ports_need_a_box(one_link) -> None:
    links = dumbbell(2, rate=100.0, delay=0.1, access_rate=1e3, access_delay=0.01, buffer=9)
    flows = tuple(
        replace(one_link.flows[0], name=f"flow{n}", path=(f"s{n}", "left", "right", f"d{n}"))
        for n in (1, 2)
    )
    plan = plan_of(replace(one_link, links=links, flows=flows), Packets(seed=1))
    merging = {p for p, one in enumerate(ordered_ports(plan)) if not one}
    there, back = plan.forward[0][1], plan.backward[0][1]
    assert merging == {there, back}


def test_a_window_is_shorter_than_what_goes_against_the_order() -> None:
    for seed in range(1, 6):
        plan = plan_of(random_scenario("fifo", seed), Packets(seed=1))
        order, ahead = windows(plan, ordered_ports(plan))
        assert order[0] == len(plan.ports)
        assert len(set(order)) == len(order)
        assert ahead > 0.0
        least = min(
            sum(plan.passage[p, 1] for p in way) for way in (*plan.forward, *plan.backward) if way
        )
        assert ahead <= 2.0 * least or ahead < plan.passage.sum()


@pytest.mark.parametrize("name", ["fifo", "pause", "fair"])
def test_answers_do_not_depend_on_the_order_of_units(name: str, monkeypatch) -> None:
    plan = plan_of(random_scenario(name, 2), Packets(seed=2))
    found = {}
    for any_order in (False, True):
        monkeypatch.setattr(lookahead, "_any_order", lambda *_, chosen=any_order: chosen)
        order, ahead = windows(plan, ordered_ports(plan))
        found[any_order] = run_engine(plan), order.tolist(), ahead
    (one, _, longer), (other, _, shorter) = found[False], found[True]
    assert longer >= shorter
    for field in ("window", "acked", "delivered", "waiting", "lost", "peak", "waited"):
        np.testing.assert_array_equal(getattr(one, field), getattr(other, field))


def test_no_order_is_sought_where_none_is_better() -> None:
    """Of pause and data between two ports one goes against any order, after about the same time."""
    plan = plan_of(random_scenario("pause", 1), Packets(seed=1))
    port = next(p for p in range(len(plan.ports)) if plan.pausable(p))
    is_host = np.append(plan.at_senders, True)
    a, b = np.array([port, plan.pausable(port)[0]]), np.array([plan.pausable(port)[0], port])
    assert lookahead._any_order(*_sorted(a, b, np.array([1.0, 1.05])), is_host)
    assert not lookahead._any_order(*_sorted(a, b, np.array([1.0, 5.0])), is_host)


def _sorted(a, b, time) -> tuple[np.ndarray, ...]:
    by = np.lexsort((b, a))
    return a[by], b[by], time[by]
