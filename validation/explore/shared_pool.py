"""View: whether a headroom pool shared by the ports of a switch can overflow, and how probably it does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dfcmodel.lossless import PausedGroups, headroom_pool, overflow, worst_demand
from dfcmodel.lossless.quantities import Given
from hopflow.checks import integer
from validation.explore.data_sheets import words
from validation.explore.views import Chart, Drawing, Knob, Line, View, fraction

MAX_PORTS = 128
"""Ports of the switch: a linear program has a variable for each of their classes."""
SMALLEST = 1e-15
"""Probabilities below it are left out of the chart."""


def _ports(text: str) -> int:
    try:
        ports = int(text)
    except ValueError:
        raise ValueError(f"Ports = {text!r}: must be a whole number") from None
    return integer("Ports", ports, 1, MAX_PORTS)


def _alpha(text: str) -> float:
    above, slash, below = text.partition("/")
    try:
        return float(above) / (float(below) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"Dynamic threshold = {text!r}: must be a number, such as 1/8") from None


@dataclass(frozen=True)
class _Pool:
    """The values of the knobs."""

    need: Given
    rate: Given
    ports: int
    classes: int
    size: Given
    shared: Given
    alpha: float
    blocked: Given
    paused: float

    def drawing(self) -> Drawing:
        """Return the worst case, and the distribution of the demand."""
        pool = headroom_pool(
            self.need, self.ports, self.classes, size=self.size, shared=self.shared, alpha=self.alpha, rate=self.rate,
        )  # fmt: skip
        worst, risk = (
            worst_demand(pool, blocked=self.blocked),
            overflow(pool, PausedGroups(self.paused)),
        )
        verdicts = {True: "overflows", False: "cannot overflow", None: "may overflow"}
        finding = (
            f"With outputs blocked for {self.blocked}, the pool {verdicts[worst.overflows]}: {worst.upper / 1e6:,.3g} MB are the "
            f"worst case of {pool.demand / 1e6:,.3g} MB for all classes at once. If each class is paused {self.paused:.3g} of the time, "
            f"independently of the others, {risk.least_size(1e-9) / 1e6:,.3g} MB are exceeded with a probability of at most 1e-9."
        )
        sizes = risk.grain * np.arange(len(risk.above), dtype=np.float64)
        chances = risk.survival(sizes)
        seen = chances >= SMALLEST
        line = Line("independent classes", sizes[seen] / 1e6, np.log10(chances[seen]), marked=True)
        title = "Probability that the demand exceeds a pool"
        return Drawing(finding, (Chart(title, "pool (MB)", "log10 of the probability", (line,)),))

    def code(self) -> str:
        """Return Python that prints the same numbers."""
        return f"""\
from dfcmodel.lossless import PausedGroups, headroom_pool, overflow, worst_demand

pool = headroom_pool(
    {self.need!r}, {self.ports}, {self.classes}, size={self.size!r}, shared={self.shared!r}, alpha={self.alpha!r}, rate={self.rate!r},
)
print(worst_demand(pool, blocked={self.blocked!r}))
print(overflow(pool, PausedGroups({self.paused!r})))
"""


VIEW = View(
    name="pool",
    title="Shared headroom pool",
    question="How small may a headroom pool be that all ports of a switch share?",
    about=(
        "Worst case of all traffic while outputs send nothing, proved by a linear program; and the exact distribution of the "
        "demand if classes are paused independently. Thresholds are dynamic. A change takes up to a second, more for many ports."
    ),
    knobs=(
        words("need", "Headroom of a class of a port", ("20 kB", "50 kB", "100 kB", "225792 B", "500 kB"), "100 kB"),
        words("rate", "Line rate", ("25Gbps", "100Gbps", "200Gbps", "400Gbps", "800Gbps"), "100Gbps"),
        Knob("ports", "Ports", {str(each): each for each in (8, 16, 32, 64, 128)}, "32", free=_ports),
        Knob("classes", "Lossless classes of a port", {str(each): each for each in range(1, 9)}, "2"),
        words("size", "Pool", ("1 MB", "2 MB", "4 MB", "8 MB", "16 MB", "40 MB"), "2 MB"),
        words("shared", "Buffer below the thresholds", ("4 MB", "8 MB", "16 MB", "32 MB", "60 MB"), "16 MB"),
        Knob(
            "alpha",
            "Dynamic threshold: factor of the free buffer",
            {f"1/{2**k}": 1 / 2**k for k in range(7, 0, -1)} | {"1": 1.0, "2": 2.0, "4": 4.0},
            "1/8",
            free=_alpha,
        ),
        words("blocked", "Outputs are blocked for", ("5us", "10us", "20us", "50us", "100us", "200us", "1ms"), "50us"),
        Knob(
            "paused",
            "Time in which a class is paused",
            {"0.1 %": 0.001, "1 %": 0.01, "5 %": 0.05, "20 %": 0.2},
            "1 %",
            free=lambda text: fraction("Time in which a class is paused", text, 0.0, 1.0),
        ),
    ),
    draw=lambda **knobs: _Pool(**knobs).drawing(),
    code=lambda **knobs: _Pool(**knobs).code(),
)  # fmt: skip
"""How small a pool may be."""
