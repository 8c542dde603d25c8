"""Each rule that sees deliveries, one delivery at a time from random states, against its source in plain Python."""

from __future__ import annotations

import math
import random
from types import SimpleNamespace
from typing import Any

import pytest

from responsefn import LEDBAT, NSCC, Allegro, Copa, Delivery, LEDBATpp, Prague, Swift, Vivace
from responsefn.linux import LinuxCDG
from tests.responsefn.rules.deliveries.published_deliveries import DELIVERIES, LISTS

RULES = {
    repr(rule): rule
    for rule in (
        NSCC(base_rtt=1e-5, target_qdelay=8e-6, bdp=60.0, base_bdp=30.0),
        *(Copa(), Copa(competitive=0), Copa(voted=1), LEDBAT(), LEDBATpp(), Prague(), Swift(), LinuxCDG()),
        *(Allegro(), Vivace(), Vivace(smoothed=1)),
    )
}
NOW = 100.0
STATES = 400
"""Random deliveries of each rule."""
FLAGS = (0.0, 1.0)
WINDOWS = (1.0, 2.0, 3.7, 10.0, 40.0, 89.0, 300.5)
AGO = (NOW, NOW - 1e-5, NOW - 0.01, NOW - 0.05, NOW - 0.2, NOW - 2.0, NOW - 59.0, NOW - 61.0)
RTTS = (0.04, 0.05, 0.06, 0.08, 0.1, 0.15, 0.2)
FIELDS: dict[str, dict[str, tuple[float, ...]]] = {
    "NSCC": {
        "rtt": tuple(1e-6 * us for us in (5.0, 10.0, 10.4, 10.9, 11.1, 13.0, 17.9, 18.1, 30.0, 41.9, 42.1, 60.0)),
        "min_rtt": (9e-6, 10e-6), "delay": (4e-6, 8e-6, 9e-6, 40e-6), "received": (0.0, 6.0, 7.0, 8.0), "lossy": FLAGS,
        "achieved": (0.5, 6.0, 9.0, 10.0, 11.0, 12.0), "clear": (0.0, 9.0, 39.0, 40.0, 88.0), "fast": FLAGS, "adapted": FLAGS,
        "period": (0.0, NOW - 1e-6, NOW, NOW + 1e-6), "unheeded": (0.0, 10.0), "ignored": (0.0, 8.0, 9.0, 20.0),
        "adjusted": (NOW - 2e-5, NOW - 1.1e-5, NOW - 9e-6), "decreased": (NOW - 2e-5, NOW - 1.1e-5, NOW - 8e-6),
        "increase": (0.0, 3.0, 70.0), "cwnd": (1.0, 2.0, 10.0, 40.0, 80.9, 89.9),
    },
    "Copa": {
        "packets": (2.0, 2.5, 8.0, 40.0), "velocity": (1.0, 2.0, 64.0), "direction": (-1.0, 0.0, 1.0), "votes": (-3.0, 0.0, 2.0),
        "same": (0.0, 1.0, 2.0, 3.0), "slow": FLAGS, "lossy": FLAGS, "begun_cwnd": WINDOWS, "high_4": (0.0, *RTTS), "srtt": (0.0, *RTTS),
    },
    "LEDBAT": {},
    "LEDBATpp": {
        "phase": (0.0, 1.0, 2.0, 3.0), "until": (NOW - 0.01, NOW, NOW + 0.01), "ssthresh": WINDOWS,
        "rtt": (*RTTS, 0.0079, 0.03, 0.043), "last": (0.04, 0.1), "last_2": (0.04, 0.1),
    },
    "Prague": {
        "srtt": (0.0, 0.005, 0.024, 0.026, 0.1), "rtt": (0.005, 0.03, 0.1), "next": (NOW, NOW + 0.01), "until": (NOW, NOW + 0.01),
        "alpha": (0.0, 0.4, 1.0), "marked": FLAGS, "marks": (0.0, 3.0), "packets": (0.0, 20.0),
    },
    "Swift": {
        "rtt": (40e-6, 49e-6, 51e-6, 90e-6, 110e-6, 149e-6, 151e-6, 400e-6), "fell": (NOW - 1e-3, NOW - 1e-4, NOW - 4e-5, -math.inf),
        "window": (0.001, 0.0012, 0.09, 0.4, 0.99, 1.3, 9.0, 99.0, 120.0), "timeouts": FLAGS,
    },
    "LinuxCDG": {
        "ssthresh": (*WINDOWS, 1e4), "rtt": (2e-3, 9e-3, *RTTS), "shadow": (0.0, *WINDOWS), "reduced": (0.0, 0.0, 0.0, 1.0, 2.0), "min_rtt": (*RTTS, math.inf), "last_max_rtt": (0.0, 2e-3, 9e-3, *RTTS),
        "last_min_rtt": RTTS, "max_rtt": (0.0, *RTTS), "base_rtt": (*RTTS, math.inf), "gradients": (0.0, 1.0, 7.0, 8.0),
        "cuts": (0.0, 4.0, 5.0, 6.0), "left": (0.0, 1.0, 2.0, 30.0), "round_start": (-1.0, NOW - 0.021, NOW - 0.1, NOW),
        "last_ack": (NOW - 0.0029, NOW - 0.0031), "samples": (0.0, 7.0, 8.0),
        **{f"{end}_{n}": (-0.01, -16e-6, 0.0, 2e-5, 0.01) for end in ("low", "high") for n in range(1, 9)},
    },
    "Allegro": {
        "mode": (0.0, 1.0, 2.0), "target": (0.5, 900.0, 2e3), "before": (700.0, 800.0), "steps": (1.0, 4.0, 5.0), "decision": (-1.0, 0.0, 1.0),
        "sending": (-1.0, 0.0, 1.0, 2.0, 3.0), "judging": (0.0, 1.0, 2.0, 3.0), "waiting": FLAGS, "high_0": FLAGS, "high_1": FLAGS,
        "lost": (0.0, 0.0, 2.0, 40.0), "got": (0.0, 30.0, 100.0), "counted": (3.0, 38.0, 90.0), "losses": (0.0, 2.0), "srtt": (0.0, 0.05, 0.1),
        **{f"u_{n}": (-math.inf, 500.0, 800.0, 950.0, 1e9) for n in range(3)},
        **{f"start_{n}": (0.0, 1.0, 33.0, 84.0, 86.0, 200.0) for n in range(4)},
        **{f"end_{n}": (0.0, 40.0, 94.0, 96.0, 300.0) for n in range(4)},
    },
    "Vivace": {
        "mode": (0.0, 1.0, 2.0), "target": (15.0, 400.0, 800.0), "amplifier": (10.0, 12.0), "bound": (0.1, 0.2), "up": FLAGS,
        "gradient": (-0.1, -1e-4, 0.0, 1e-5, 2e-4, 0.1), "rate": (-1.0, 300.0, 500.0), "utility": (-50.0, 2.0, 4.0, 9.0), "high": FLAGS,
        "probe": (0.0, 1.0, 2.0, 3.0, 4.0), "srtt": (0.0, 0.05, 0.1), "last_open": FLAGS, "old_open": FLAGS,
        **{f"u_{n}": (1.0, 2.0, 3.0) for n in range(3)},
        **{
            f"{name}_{field}": values
            for name, moved in (("now", 0.0), ("last", 0.05), ("old", 0.1))
            for field, values in {
                "begin": (NOW - moved - 0.2, NOW - moved - 0.12), "end": (0.0, *(NOW - moved + d for d in (-0.06, -0.03, 0.0, 0.01))),
                "rate": (300.0, 500.0), "count": (0.0, 1.0, 2.0, 30.0), "total": (0.05, 0.1, 3.0), "moment": (0.05, 0.0503, 0.13, 45.0, 44.0, 50.0),
                "sent": (NOW - moved - 0.1, NOW - moved - 0.05), "first": (NOW - moved - 0.08,), "came": (NOW - moved - 0.08, NOW - moved - 0.02),
                "lost": (0.0, 3.0), "probe": (-1.0, 0.0, 1.0, 2.0, 3.0, 4.0),
            }.items()
        },
    },
}  # fmt: skip
"""Values on both sides of what the rules compare, and of the round-trip times of deliveries; other fields by their names."""


def drawn(name: str, fields: dict[str, tuple[float, ...]], draw: random.Random) -> float:
    """Return a value of a field."""
    if name in fields:
        return draw.choice(fields[name])
    if name in ("cwnd", "ssthresh"):
        return draw.choice((*WINDOWS, math.inf) if name == "ssthresh" else WINDOWS)
    if name in ("quarter", "second", "begun", "began", "minute"):
        return draw.choice(AGO)
    if name.partition("_")[0] in ("now", "base", "low", "high", "last"):
        return draw.choice((*RTTS, math.inf) if name[0] in "nbl" else RTTS)
    return draw.uniform(0.5, 60.0)


@pytest.mark.parametrize("name", DELIVERIES)
def test_a_delivery_changes_the_state_as_in_the_source(name: str) -> None:
    """To rounding: sums and powers in another order, of differences that are up to a thousandth of what they differ by."""
    rule, draw = RULES[name], random.Random(name)
    kind = type(rule).__name__
    fields, lists = FIELDS[kind], LISTS.get(kind, {})
    for n in range(STATES):
        state: Any = rule.State()
        if n > 9:  # deliveries after the first
            state = rule.State(**{field: drawn(field, fields, draw) for field in rule.State._fields})
        event = Delivery(*[0.0] * 15)._replace(
            time=NOW, rtt=draw.choice(fields.get("rtt", RTTS)), acked=draw.choice((0.0, 1.0, 1.0, 2.0)),
            lost=draw.choice((0.0, 0.0, 1.0, 3.0)), marks=draw.choice(FLAGS), delivered=draw.choice((38.0, 89.0, 95.0)),
            in_flight=draw.choice((2.0, 9.0, 40.0)), recovering=float(draw.random() < 0.1), random=draw.random(),
            limited=float(draw.random() < 0.1),
        )  # fmt: skip
        expected = SimpleNamespace(**state._asdict())
        for series, (first, count) in lists.items():
            prefix = series.removesuffix("_before")
            setattr(expected, series, [getattr(state, f"{prefix}_{first + n}") for n in range(count)])
        DELIVERIES[name](expected, event)
        for series, (first, _) in lists.items():
            prefix = series.removesuffix("_before")
            vars(expected).update({f"{prefix}_{first + n}": value for n, value in enumerate(getattr(expected, series))})
        different = {
            field: (value, getattr(expected, field))
            for field, value in rule.on_delivery(state, rule.params, event)._asdict().items()
            if not math.isclose(value, getattr(expected, field), rel_tol=1e-9, abs_tol=1e-12)
        }
        assert not different, (state, event)
