"""Random sequences of deliveries, without a network, that reach every branch of BBR's rules."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from math import inf, isclose
from typing import Any

from responsefn import Delivery, DeliveryRule

__all__ = ["check_every_step", "disturbed", "random_deliveries"]


NEAR_RATES = tuple(20.0 / interval / growth for interval in (0.03, 0.05, 0.08) for growth in (1.24, 1.26))
"""Packets/s beside the 1.25th part of delivery rates, up to which Startup goes on."""
NEAR_PRODUCTS = (19.7, 20.3, 49.2, 50.8, 33.6, 34.4)
"""Packets in flight beside bandwidth-delay products of `CORNERS`, and beside a bound of 40 less BBR's headroom."""


def random_deliveries(seed: int, count: int) -> Iterator[Delivery]:
    """Yield deliveries of a path that changes at random: quiet and crowded times, with losses and recoveries."""
    draw = random.Random(seed)
    now, delivered, recovering, base, behind = 0.0, 0.0, 0.0, 0.04, 20.0
    for n in range(count):
        if n % 40 == 0:  # other times
            pace, base, behind = (
                draw.choice((2e-3, 0.02, 0.3)),
                base * draw.uniform(1.0, 1.02),
                draw.choice((2.0, 20.0, 80.0)),
            )
            flights, losses = (
                draw.choice(((2.0, 4.0), (15.0, 40.0, 41.5), (90.0, 160.0), NEAR_PRODUCTS)),
                draw.choice((0.02, 0.4)),
            )
        if n % 400 == 0:
            base = draw.uniform(0.02, 0.06)
        now += pace * draw.random()
        acked = float(draw.choice((0, 1, 1, 2, 5)))
        delivered += acked
        if draw.random() < 0.04:
            recovering = 1.0 - recovering
        lost = float(draw.choice((1, 3, 7))) if draw.random() < losses else 0.0
        yield Delivery(
            time=now, rtt=base * draw.choice((1.0, 1.1, 1.5)), acked=acked, lost=lost, marks=0.0,
            delivered=delivered, prior_delivered=max(0.0, delivered - draw.choice((1.0, behind))),
            interval=draw.choice((0.0, 0.03, 0.05, 0.08)), in_flight=draw.choice(flights),
            sent_in_flight=draw.choice(flights) + 20.0, lost_since=float(draw.choice((0, 0, 1, 4))) if lost else 0.0,
            lost_in_flight=draw.choice((1.0, 50.0, 150.0)), lost_with=float(draw.choice((1, 2, 4))),
            recovering=recovering, random=draw.random(),
        )  # fmt: skip


CORNERS: dict[str, tuple[float, ...]] = {
    "cwnd": (1.0, 4.0, 9.5, 20.3, 64.0, 400.5), "pacing_rate": (100.0, 3e3, 3e4, 6e4), "prior_cwnd": (0.0, 30.0, 200.0),
    "bw_now": (0.0, 50.0, 1000.0, 9e4), "bw_before": (0.0, 50.0, 1000.0), "bw_shortterm": (inf, 40.0, 700.0),
    "bw_latest": (0.0, 500.0), "inflight_latest": (0.0, 45.0), "inflight_shortterm": (inf, 3.0, 50.0),
    "inflight_longterm": (inf, 5.0, 12.0, 40.0, 150.0), "min_rtt": (inf, 0.02, 0.05), "mode": (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    "full_bw": (0.0, 60.0, 1e3, *NEAR_RATES), "full_bw_count": (0.0, 2.0), "full_bw_now": (0.0, 1.0), "full_bw_reached": (0.0, 1.0),
    "bw_probe_up_rounds": (0.0, 1.0, 4.0, 29.0, 30.0), "bw_probe_up_acked": (0.0, 2.0, 9.0), "round_lost": (0.0, 4.0, 5.0, 6.0, 20.0),
    "probe_up_acked_per_inc": (1.0, 2.5, 6.0), "rounds_since_probe_up": (0.0, 61.0, 62.0, 63.0), "ack_phase": (0.0, 1.0, 2.0, 3.0, 4.0),
    "is_bw_probe_sample": (0.0, 1.0), "prev_probe_too_high": (0.0, 1.0), "prev_probe_precautionary": (0.0, 1.0),
    "is_loss_in_round": (0.0, 1.0), "probe_rtt_round_done": (0.0, 1.0), "recovering": (0.0, 1.0),
    "best": (0.0, 80.0, 1250.0), "second": (0.0, 70.0), "third": (0.0, 60.0), "filled_pipe": (0.0, 1.0),
    "cycle_index": (0.0, 1.0, 2.0, 7.0), "conserving": (0.0, 1.0),
}  # fmt: skip
"""Values on both sides of what BBR compares with, by field."""


DELIVERIES = 1000
"""Deliveries of a seed."""


def disturbed(state: Any, draw: random.Random, modes: int) -> Any:
    """Return a state with some fields changed, so that what is rare comes up as well."""
    if draw.random() < 0.3:
        return state
    known = [name for name in state._fields if name in CORNERS]
    changed = {name: draw.choice(CORNERS[name]) for name in draw.sample(known, draw.randint(1, 8))}
    if "mode" in changed:
        changed["mode"] %= modes
    made = state._replace(**changed)
    if modes == 7 and made.mode == 4.0:  # ProbeBW_REFILL sets it, and nothing else does until it ends
        made = made._replace(ack_phase=1.0)
    return made


def check_every_step(rule: DeliveryRule, draft: Callable[[dict[str, float]], Any], modes: int, seed: int) -> None:
    """Assert that a version of BBR changes its state at each delivery as the pseudocode of its draft does.

    Each delivery is compared by itself, so that no difference hides another. Products are rounded in another
    order. All modes, of which the last is ProbeRTT, are reached.
    """
    reached = set()
    state: Any = rule.State()
    draw = random.Random(seed)
    for seen in random_deliveries(seed, DELIVERIES):
        state = disturbed(state, draw, modes)
        expected = draft(state._asdict()).on_ack(seen)
        before, state = state, rule.on_delivery(state, rule.params, seen)
        if state.mode != modes - 1.0:  # the end of ProbeRTT's first round is only for ProbeRTT
            expected["probe_rtt_round_done"] = state.probe_rtt_round_done
        different = {
            name: (value, expected[name])
            for name, value in state._asdict().items()
            if not isclose(value, expected[name], rel_tol=1e-12)
        }
        assert not different, (before, seen)
        reached.add(state.mode)
    assert reached == set(map(float, range(modes)))
