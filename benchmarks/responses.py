"""Response functions compared with naive NumPy expressions and a loop of SciPy's brentq."""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from benchmarks.timing import Row, compare
from hopflow.kernels import make_kernel
from responsefn import (
    AIMD,
    CUBIC,
    HTCP,
    PFTK,
    TFRC,
    Independent,
    Reno,
    fused,
    inverse,
    invert,
    simulate_curve,
    simulate_rule,
)
from responsefn.simulation.single_flow import iterate_power_map

RTT = 0.1
MANY = 4_000_000
SOME = 200_000
FEW = 2_000


def rows() -> list[Row]:
    """Return ratios; the note of the first line of a task is its own speed."""
    p = np.geomspace(1e-8, 0.3, MANY)
    out = np.empty_like(p)
    found = []

    def tfrc(p):
        return 1 / (RTT * np.sqrt(2 * p / 3) + 4 * RTT * 3 * np.sqrt(3 * p / 8) * p * (1 + 32 * p**2))

    def cubic(p):
        mean = (0.4 * 3.7 / 1.2) ** 0.25 * (RTT / p) ** 0.75
        return np.maximum(mean, np.sqrt(1.5 / p)) / RTT

    def aimd(p):
        return np.sqrt(1.5 / p) / RTT

    for rule, naive in ((AIMD(), aimd), (TFRC(), tfrc), (CUBIC(), cubic)):
        law = fused(rule, RTT)
        found += _per_item(
            compare(
                f"{MANY:.0e} rates of {rule!r}",
                {
                    "fused": lambda law=law: law(p, out),
                    "Rule.rate": lambda rule=rule: rule.rate(p, RTT),
                    "naive NumPy": lambda naive=naive: naive(p),
                },
            ),
            MANY,
        )
    for rule in (TFRC(), PFTK()):
        law = fused(rule, RTT)
        rates = np.asarray(rule.rate(np.geomspace(1e-8, 0.3, SOME), RTT))
        few = rates[:: SOME // FEW]
        timed = compare(
            f"inverse of {rule!r}",
            {
                "fused": lambda law=law, rates=rates: law.invert(rates),
                "invert": lambda rule=rule, rates=rates: invert(rule, rates, RTT),
                f"brentq loop (from {FEW})": lambda rule=rule, few=few: _brentq(rule, few),
            },
            rounds=3,
        )
        scale = SOME / FEW
        found += _per_item(
            [
                Row(r.task, r.name, *(scale * x for x in (r.seconds, r.fastest, r.slowest, r.ratio)))
                if "brentq" in r.name
                else r
                for r in timed
            ],
            SOME,
        )
    cycles = make_kernel(iterate_power_map)
    packets = np.random.default_rng(0).geometric(1e-4, MANY)

    def peaks():
        cycles(packets, 0.25, 2.0, 1e4, out)
        return np.sqrt(out, out=out)

    timed = compare(
        "AIMD's cycle map",
        {
            "compiled": peaks,
            "plain Python (from 1/100)": lambda: _map(packets[: MANY // 100]),
        },
        rounds=3,
    )
    found += _per_item(_scaled(timed, "Python", 100.0), MANY)
    rule, losses = HTCP(), np.geomspace(1e-5, 0.01, 20)
    rates = np.asarray(rule.rate(losses, RTT))
    found += _per_item(
        compare(
            f"inverse of {rule!r}, a numerical cycle",
            {
                "invert": lambda: _invert_anew(rule, rates),
                "brentq loop": lambda: [_cycle_brentq(rule, float(rate)) for rate in rates],
            },
            rounds=3,
        ),
        len(rates),
    )
    acks = 1000 * 20_000
    alike = 1.0 / np.arange(985, 1001)  # nearly as many ACKs of each, 0.8 % less than 1000
    found += _per_item(
        compare(
            f"{acks:.0e} ACKs of Reno",
            {
                "simulate_rule, independent losses": lambda: simulate_rule(
                    Reno(), 1e-3, RTT, Independent(), events=20_000
                ),
                "simulate_curve, deterministic losses, 16 loss rates": lambda: simulate_curve(
                    Reno(), alike, RTT, events=1250
                ),
                "simulate_rule, deterministic losses: one chain": lambda: simulate_rule(
                    Reno(), 1e-3, RTT, events=20_000
                ),
                "bare chain w += 1/w": lambda: _chain()(acks),
            },
            rounds=3,
        ),
        acks,
    )
    return found


def _scaled(rows: list[Row], name: str, scale: float) -> list[Row]:
    """Return the rows, those of an alternative that did a part of the work scaled to all of it."""
    return [
        Row(r.task, r.name, *(scale * x for x in (r.seconds, r.fastest, r.slowest, r.ratio))) if name in r.name else r
        for r in rows
    ]


def _per_item(rows: list[Row], items: int) -> list[Row]:
    return [
        Row(
            r.task, r.name, r.seconds, r.fastest, r.slowest, r.ratio,
            f"{1e9 * r.fastest / items:.2f} ns each at best",
        )
        for r in rows
    ]  # fmt: skip


def _brentq(rule, rates):
    import sympy as sp

    from responsefn.closed_forms.symbolic import R, b, p, t_RTO

    expression = rule.expression.subs({R: RTT, b: 1, t_RTO: 4 * RTT})
    scalar = sp.lambdify(p, expression, modules="math")

    def one(rate):
        return brentq(lambda x: scalar(math.exp(x)) / rate - 1, -25.0, -1e-3, xtol=1e-13)

    return [one(float(rate)) for rate in rates]


def _invert_anew(rule, rates):
    """Invert including the scan of the whole response at the first call."""
    inverse.clear_scans()
    return invert(rule, rates, RTT)


def _cycle_brentq(rule, rate):
    def excess(x):
        return math.log(rule.rate(math.exp(x), RTT) / rate)

    return brentq(excess, math.log(1e-7), 0.0, xtol=1e-13)


def _map(packets):
    window = 100.0
    for count in packets:
        window = math.sqrt((0.5 * window) ** 2 + 2.0 * count)
    return window


def grow(count):
    """Template: the least cost of a window that grows by 1/w."""
    w = 10.0
    for _ in range(count):
        w += 1.0 / w
    return w


def _chain():
    return make_kernel(grow)
