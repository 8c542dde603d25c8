"""D01: how many packets the control delay of end hosts touches, and that of neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hopflow.results import COLOURS, figure
from validation.verdicts import Finding, Number, Part, Picture, Verdict, claim

if TYPE_CHECKING:
    from matplotlib.figure import Figure

BLUE, RED = COLOURS[:2]
RTT, UTILISATION, DISTANCE = 0.1, 0.5, 10e3  # s, 1, m: as stated with Fig. 2
LIGHT_IN_FIBRE = 2e8  # m/s
FEW_HUNDRED, SEVERAL_MILLION = (200.0, 900.0), (2e6, 9e6)  # what the words allow


def _touched(bits: float, size: float) -> float:
    """Return the packets of ``size`` bytes that are sent in one RTT at ``bits`` bit/s."""
    return bits * RTT * UTILISATION / (8 * size)


@claim("D01")
def packets_touched_by_control_delay() -> Finding:
    """Arithmetic: which packet size makes Fig. 2's counts true, and 100 ms over one hop's delay."""
    one_byte = _touched(10e6, 1.0), _touched(100e9, 1.0)
    smallest = max(one_byte[0] / FEW_HUNDRED[1], one_byte[1] / SEVERAL_MILLION[1])
    largest = min(one_byte[0] / FEW_HUNDRED[0], one_byte[1] / SEVERAL_MILLION[0])
    hop = DISTANCE / LIGHT_IN_FIBRE
    ratio = RTT / hop

    def draw() -> Figure:
        fig, ax = figure()
        speed = np.geomspace(10e6, 100e9, 41)
        ends = _touched(1.0, smallest) * speed, _touched(1.0, largest) * speed
        ax.fill_between(
            speed, *ends, color=BLUE, alpha=0.3, lw=0,
            label=f"{smallest:.0f} to {largest:.0f} bytes",
        )  # fmt: skip
        ax.loglog(speed, _touched(1.0, 1500.0) * speed, color=RED, label="1500 bytes")
        ax.loglog(speed, _touched(1.0, 1500.0) * speed / ratio, "--", color=RED, label="one hop")
        ax.plot([10e6, 10e6], FEW_HUNDRED, color="black", lw=3, label="the text")
        ax.plot([100e9, 100e9], SEVERAL_MILLION, color="black", lw=3)
        ax.set(xlabel="link speed (bit/s)", ylabel="packets sent within the control delay")
        ax.legend(fontsize=8)
        return fig

    return Finding(
        parts=(
            Part(
                "some packet size gives a few hundred at 10 Mb/s and several million at 100 Gb/s",
                Verdict.of(smallest < largest),
                Verdict.NOT_APPLICABLE,
            ),
            Part(
                "control between neighbours at 10 km cuts a delay of 100 ms about 2000 times",
                Verdict.of(abs(ratio / 2000 - 1) < 0.1),
                Verdict.NOT_APPLICABLE,
            ),
        ),
        summary=(
            f"Both counts hold for packets of {smallest:.0f} to {largest:.0f} bytes; with the 1500 "
            f"bytes of the paper's simulations they are {_touched(10e6, 1500.0):.0f} and "
            f"{_touched(100e9, 1500.0):.2g}. 10 km of fibre take {1e6 * hop:.0f} microseconds, "
            f"{ratio:.0f} times less than 100 ms."
        ),
        explanation=(
            "The factor compares one hop with an RTT of 100 ms. The path of Fig. 2, 5 hops of 10 km, "
            f"has an RTT of {1e3 * 10 * hop:g} ms by propagation; against that the gain is 10."
        ),
        numbers=(
            Number(
                "packet size that makes both counts true, bytes",
                f"{smallest:.1f} to {largest:.1f}",
                paper="not stated",
                tolerance="a few hundred: 200 to 900; several million: 2 to 9 million",
            ),
            Number(
                "control delay of end hosts over that of neighbours",
                f"{ratio:.0f}",
                paper="typically 2000",
                tolerance="10 %: light in fibre, 2e8 m/s",
            ),
        ),
        pictures=(
            Picture(
                draw,
                "Packets within 100 ms at a utilisation of one half.",
                "lines of slope one over link speed: small packets pass through both of the text's "
                "ranges, packets of 1500 bytes stay below",
            ),
        ),
    )
