"""View: response functions of two congestion controls, and their windows on one path."""

from __future__ import annotations

import numpy as np

from dfcmodel import PathOptions, coexist
from hopflow.units import quantity
from responsefn import BIC, CUBIC, HSTCP, HTCP, NewReno, Scalable, Westwood, WindowRule, curve
from responsefn.linux import LinuxHTCP
from validation.explore.views import Chart, Drawing, Knob, Line, View

RULES: dict[str, type[WindowRule]] = {
    rule.__name__: rule for rule in (NewReno, CUBIC, BIC, HTCP, LinuxHTCP, HSTCP, Scalable, Westwood)
}
SECONDS = 40.0


def _draw(first: str, second: str, bandwidth: str, rtt: str, buffer: float) -> Drawing:
    rate, trip = quantity("bandwidth", bandwidth, "rate"), quantity("rtt", rtt, "time")
    room = max(2, round(buffer * rate * trip))
    rules = [RULES[first](), RULES[second]()]
    run = coexist(rules, rtt=trip, bandwidth=rate, buffer=room, runs=1, options=PathOptions(duration=SECONDS))
    labels = (first, second) if first != second else (f"{first} (1)", f"{second} (2)")
    windows = tuple(Line(label, run.time, window) for label, window in zip(labels, run.window, strict=True))
    drawn = curve(tuple(dict.fromkeys(rules)), p=np.logspace(-5.0, -1.0, 41), rtt=trip, bandwidth=rate)
    rates = tuple(
        Line(label, drawn.p, np.asarray(drawn.rate[drawn.rules.index(rule)]))
        for label, rule in zip(labels, rules, strict=True)
    )
    share = run.share
    winner = int(np.argmax(share))
    finding = (
        f"{labels[winner]} takes {share[winner]:.0%} of what both receive, over {room} packets of buffer; "
        f"the link is {run.utilisation:.0%} busy."
    )
    return Drawing(
        finding,
        (
            Chart("Windows of the two flows", "time (s)", "packets", windows),
            Chart("Rate alone, by loss rate", "loss event rate p", "packets/s", rates, logarithmic=True),
        ),
    )  # fmt: skip


def _code(first: str, second: str, bandwidth: str, rtt: str, buffer: float) -> str:
    names = ", ".join(sorted({first, second}))
    alone = "rules[0]" if first == second else "rules"
    return f"""\
import numpy as np

from dfcmodel import PathOptions, coexist
from hopflow.units import quantity
from responsefn import {names}, curve

bandwidth, rtt = quantity("bandwidth", "{bandwidth}", "rate"), quantity("rtt", "{rtt}", "time")
buffer = max(2, round({buffer:g} * bandwidth * rtt))  # packets
rules = [{first}(), {second}()]
run = coexist(rules, rtt=rtt, bandwidth=bandwidth, buffer=buffer, runs=1, options=PathOptions(duration={SECONDS:g}))
print(run.share, run.utilisation)
curve({alone}, p=np.logspace(-5, -1, 41), rtt=rtt, bandwidth=bandwidth).plot()
"""


def _rules(name: str, label: str, start: str) -> Knob:
    return Knob(name, label, {rule: rule for rule in RULES}, start, slider=False)


VIEW = View(
    name="tcp",
    title="Which TCP wins",
    question="Which congestion control wins on my path?",
    about=(
        "Two flows at one drop-tail bottleneck, packet by packet for 40 s, from the same start; one run, so that small "
        "differences are chance (hopflow compare repeats runs). A change takes some hundredths of a second; the "
        "first with a rule up to a second, and some seconds where this machine has not run it before and compiles it."
    ),
    knobs=(
        _rules("first", "First flow", "CUBIC"),
        _rules("second", "Second flow", "NewReno"),
        Knob("bandwidth", "Bottleneck", {b: b for b in ("2Mbps", "5Mbps", "10Mbps", "24Mbps", "50Mbps", "100Mbps")}, "24Mbps"),
        Knob("rtt", "Round-trip time", {t: t for t in ("10ms", "20ms", "40ms", "80ms", "160ms")}, "40ms"),
        Knob("buffer", "Buffer, of the bandwidth-delay product", {f"{b:g}": b for b in (0.1, 0.25, 0.5, 1.0, 2.0, 4.0)}, "1"),
    ),
    draw=_draw,
    code=_code,
)  # fmt: skip
"""Two congestion controls on one path."""
