"""Random sequences of deliveries, without a network: every branch of a rule is reached soon."""

from __future__ import annotations

import random
from collections.abc import Iterator

from responsefn import Delivery

__all__ = ["random_deliveries"]


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
                draw.choice(((2.0, 4.0), (15.0, 40.0, 41.5), (90.0, 160.0))),
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
