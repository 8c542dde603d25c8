"""Rules, asked in two ways: rates and simulations ACK by ACK, inverses, curves, units, the command."""

from __future__ import annotations

import json
import random
from typing import Any

import numpy as np

import responsefn as r
from benchmarks.fuzz.contradictions import Answers, Ask
from hopflow import mbps
from responsefn import linux

DOCUMENTED = 0.005
"""Accuracy of `rate` against the rule itself (docs/responses.md)."""


def rule(draw: random.Random, *, exact: bool = False) -> Any:
    """Draw a rule with random parameters; ``exact``: one whose accuracy is documented for these."""
    b = float(f"{draw.uniform(0.1, 0.8):.3g}")
    kinds = [
        r.AIMD(a=float(f"{10 ** draw.uniform(-1, 1):.3g}"), b=b),
        r.Reno(), r.Scalable(), r.CUBIC(), r.HTCP(), r.Illinois(), r.CTCP(), r.Relentless(),
        r.HSTCP(form="cycle"), r.BIC(fast_convergence=0),
    ]  # fmt: skip
    if not exact:
        kinds += [
            r.CUBIC(C=float(f"{10 ** draw.uniform(-1.5, 0.5):.3g}"), beta=float(f"{draw.uniform(0.5, 0.9):.2g}")),
            r.Tahoe(), r.TFRC(), r.PFTK(), r.Mathis(), r.DCTCP(), linux.LinuxCUBIC(), linux.LinuxScalable(), r.Vegas(),
            r.Westwood(), r.FAST(), r.ARENO(), r.Fusion(),
        ]  # fmt: skip
    return draw.choice(kinds)


def _rtt(draw: random.Random) -> float:
    return draw.choice((0.01, 0.04, 0.1, 0.2))


def rate_and_acks(draw: random.Random) -> Answers:
    """`rate`, and the rule ACK by ACK under one loss in 1/p packets."""
    chosen, rtt = rule(draw, exact=True), _rtt(draw)
    p = float(f"{10 ** draw.uniform(-4, -2):.3g}")
    rate = chosen.rate(p, rtt)
    ran = r.simulate_rule(chosen, p, rtt, r.Deterministic(), events=4000, options=r.DirectSimulation(method="acks"))
    within = DOCUMENTED * rate + ran.half_width if hasattr(ran, "half_width") else DOCUMENTED * rate
    return Answers(f"{chosen!r}, p = {p}, rtt = {rtt}", rate, ran.rate, within)


def inverse_and_rate(draw: random.Random) -> Answers:
    """The rate at the loss rate that `invert` finds, and the rate that it was asked for."""
    chosen, rtt, bandwidth = rule(draw), _rtt(draw), 5000.0
    asked = float(f"{10 ** draw.uniform(1.5, 3.4):.4g}")
    more: dict[str, Any] = {"bandwidth": bandwidth} if chosen.capacity == "needed" else {}
    p = r.invert(chosen, asked, rtt, **more)
    return Answers(
        f"{chosen!r}, rate = {asked}, rtt = {rtt}, {more}",
        chosen.rate(p, rtt, **more),
        asked,
        1e-6 * asked,
    )


def curve_and_rates(draw: random.Random) -> Answers:
    """A curve, one call with arrays, and a call for each value."""
    chosen, rtt = rule(draw), _rtt(draw)
    p = sorted(float(f"{10 ** draw.uniform(-5, -1.8):.3g}") for _ in range(4))
    more: dict[str, Any] = {"bandwidth": 3000.0} if chosen.capacity == "needed" else {}
    drawn = r.curve(chosen, p, rtt, **more)
    single = [chosen.rate(x, rtt, **more) for x in p]
    rates = np.ravel(drawn.rates if hasattr(drawn, "rates") else drawn.rate)
    return Answers(
        f"{chosen!r}, p = {p}, rtt = {rtt}, {more}",
        [rates, chosen.rate(p, rtt, **more)],
        [single, single],
        1e-9 * np.max(single),
    )


def strings_and_numbers(draw: random.Random) -> Answers:
    """Times and rates as strings with units, and as numbers."""
    chosen = draw.choice((r.Vegas(), r.FAST(), r.Westwood(), r.CUBIC(), r.Reno()))
    ms, speed, p = (
        draw.randint(5, 300),
        draw.randint(5, 200),
        float(f"{10 ** draw.uniform(-4, -2):.3g}"),
    )
    one = chosen.rate(p, f"{ms}ms", bandwidth=f"{speed}Mbps")
    return Answers(
        f"{chosen!r}, p = {p}, {ms} ms, {speed} Mb/s",
        one,
        chosen.rate(p, ms / 1000, bandwidth=mbps(speed)),
        1e-9 * one,
    )


def blocks_and_acks(draw: random.Random) -> Answers:
    """A simulation by blocks of ACKs, and ACK by ACK, under the same losses."""
    chosen, rtt = rule(draw, exact=True), _rtt(draw)
    p = float(f"{10 ** draw.uniform(-4.5, -3):.3g}")
    seed = draw.randint(0, 10**6)
    one, other = (
        r.simulate_rule(
            chosen,
            p,
            rtt,
            r.Independent(),
            events=500,
            options=r.DirectSimulation(method=how, seed=seed),
        ).rate
        for how in ("blocks", "acks")
    )
    return Answers(f"{chosen!r}, p = {p}, rtt = {rtt}, rng = {seed}", one, other, 0.01 * other)


def friendliness_and_rates(draw: random.Random) -> Answers:
    """Friendliness, and the quotient of two rates."""
    chosen, rtt = rule(draw), _rtt(draw)
    p = float(f"{10 ** draw.uniform(-4, -2):.3g}")
    more: dict[str, Any] = {"bandwidth": 3000.0} if chosen.capacity == "needed" else {}
    one = r.friendliness(chosen, p, rtt, **more)
    other = chosen.rate(p, rtt, **more) / r.Reno().rate(p, rtt)
    return Answers(f"{chosen!r}, p = {p}, rtt = {rtt}, {more}", one, other, 1e-9 * other)


def command_and_python(draw: random.Random) -> Answers:
    """``hopflow response RULE --json``, and `rate`."""
    from typer.testing import CliRunner

    from hopflow.console.commands import app
    from responsefn.rule_catalogue import rule_named

    name = draw.choice(("cubic", "reno", "hstcp", "tfrc", "scalable", "htcp"))
    ms, p = draw.randint(5, 200), float(f"{10 ** draw.uniform(-4, -2):.3g}")
    ran = CliRunner().invoke(app, ["response", name, "--rtt", f"{ms}ms", "--p", repr(p), "--json"])
    told = json.loads(ran.stdout)

    value = np.asarray(rule_named("rule", name).rate(p, ms / 1000))
    (rates,) = told["rate"].values()
    return Answers(f"{name}, p = {p}, {ms} ms", rates[0], value, 1e-12 * value)


PAIRS: dict[str, Ask] = {
    "rate against ACK by ACK": rate_and_acks,
    "inverse against rate": inverse_and_rate,
    "curve against rates": curve_and_rates,
    "strings against numbers": strings_and_numbers,
    "blocks against ACK by ACK": blocks_and_acks,
    "friendliness against rates": friendliness_and_rates,
    "response --json against Python": command_and_python,
}
