"""View: throughput and loss of a port over its pause threshold."""

from __future__ import annotations

import numpy as np

from hopflow.checks import integer
from hopflow.units import quantity
from markov import PauseTandem, stationary
from validation.explore.data_sheets import words
from validation.explore.views import Chart, Drawing, Knob, Line, View, fraction

TIMES = ("20us", "50us", "100us", "200us", "500us", "1ms", "2ms", "5ms", "20ms")
ROOMS = (8, 12, 16, 20, 30, 40)
MAX_BUFFER = 60
"""Packets of the port; a chain is solved for each of them."""


def _packets(text: str) -> int:
    return integer(
        "Buffer of the port",
        quantity("Buffer of the port", text, "amount", bare=True),
        2,
        MAX_BUFFER,
    )


def _draw(rtt: str, buffer: int, load: float) -> Drawing:
    rates = tuple(5.0 * load / level for level in (1, 2, 3))
    port = PauseTandem(
        buffers=(10, buffer), high_threshold=buffer, link_rate="10Gbps", paused_rate=0.0,
        bottleneck_rate="5Gbps", arrival_rates=tuple(f"{rate:g}Gbps" for rate in rates), rtt=rtt,
    )  # fmt: skip
    thresholds = range(1, buffer + 1)
    throughputs, losses = [], []
    for each in thresholds:  # not by sweep, whose result needs xarray: the page of calculators has none
        answer = stationary(port.replace(high_threshold=each))
        offered = answer["effective_rate"][0] + answer["loss_rate"][0]
        throughputs.append(answer.throughput)
        losses.append(100.0 * float(np.sum(answer["loss_rate"]) / offered))
    throughput, loss = np.array(throughputs), np.array(losses)
    gain = 100.0 * (throughput / throughput[-1] - 1.0)
    at = np.asarray(thresholds, dtype=float)
    best = int(np.argmax(gain))
    finding = (
        f"Most throughput at a threshold of {thresholds[best]} of {buffer} packets: "
        f"{gain[best]:+.2f} % against no pauses."
    )
    return Drawing(
        finding,
        (
            Chart("Throughput gained by pause", "pause threshold (packets)", "gain (%)",
                  (Line("gain", at, gain, marked=True),)),
            Chart("Packets that the chain loses in both queues (TCP loses others)", "pause threshold (packets)", "lost (%)",
                  (Line("lost", at, loss, marked=True),)),
        ),
    )  # fmt: skip


def _code(rtt: str, buffer: int, load: float) -> str:
    rates = ", ".join(f'"{5.0 * load / level:g}Gbps"' for level in (1, 2, 3))
    return f"""\
from markov import PauseTandem, sweep

port = PauseTandem(
    buffers=(10, {buffer}), high_threshold={buffer}, link_rate="10Gbps", paused_rate=0.0,
    bottleneck_rate="5Gbps", arrival_rates=({rates}), rtt="{rtt}",
)
found = sweep(port, high_threshold=range(1, {buffer + 1}))
gain = 100 * (found.throughput / found.throughput[-1] - 1)
print(gain.to_pandas())  # the last threshold is the whole buffer: no pauses
"""


VIEW = View(
    name="threshold",
    title="Pause threshold",
    question="At which occupancy should a port pause its upstream neighbour?",
    about=(
        "The Markov chain of malhotra2005: a link of 10 Gb/s into a port, 5 Gb/s out of it, TCP as an aggregate "
        "rate that halves at a loss. Pause messages take no time. A chain is solved for every threshold."
    ),
    knobs=(
        words("rtt", "Round-trip time", TIMES, "200us"),
        Knob(
            "buffer",
            "Buffer of the port",
            {f"{room} packets": room for room in ROOMS},
            "20 packets",
            free=_packets,
        ),
        Knob(
            "load",
            "Largest offered load",
            {f"{load:.0%}": load for load in (1.1, 1.2, 1.4, 1.7, 2.0)},
            "140%",
            free=lambda text: fraction("Largest offered load", text, 0.1, 5.0),
        ),
    ),
    draw=_draw,
    code=_code,
)
"""At which threshold a port should pause."""
