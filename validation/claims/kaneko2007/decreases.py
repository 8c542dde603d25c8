"""The decrease RTTmin/RTT beside a Reno flow, by the buffer (K11)."""

from __future__ import annotations

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Decided, Effects, Statement, beyond
from validation.claims.kaneko2007.runs import FAIR, of_cases, relative, seeds_of, uneven
from validation.statistics import Estimate

BUFFERS, BUFFERS_NS2 = "kaneko2007/buffers-ns3", "kaneko2007/buffers-ns2"
SIZES = (0.5, 1.0, 2.0)
"""Buffers over the BDP."""


def share_ratio(size: float) -> float:
    """Return the mean window of a flow that keeps RTT_min/RTT over Reno's, both seeing every loss.

    Between two losses both grow by the same g packets; a flow that gives up b of its peak W has
    b W = g and the mean (2 - b) W/2, hence the ratio (2 - b)/(3 b) to Reno's b = 1/2. With a buffer
    of x BDP the factor kept at a full queue is 1/(1 + x). A flow that sees m times as many losses as
    Reno grows by g/m between two: the ratio is divided by m.
    """
    b = size / (1 + size)
    return (2 - b) / (3 * b)


@effects("K11", cases=(BUFFERS, BUFFERS_NS2), equal=FAIR)
def westwood_decrease() -> Effects:
    """Measure the share of a flow with the decrease RTTmin/RTT by the buffer."""

    def ratio(case: str, rule: str, size: float) -> Estimate:
        frame = of_cases(case)
        return relative(*(seeds_of(frame, rule=rule, buffer_bdp=size, flow=flow) for flow in (1, 2)))

    def statements(case: str, rule: str, tool: str, *, model: bool) -> dict[str, Statement]:
        frame = of_cases(case)
        found = {x: uneven(*(seeds_of(frame, rule=rule, buffer_bdp=x, flow=flow) for flow in (1, 2))) for x in SIZES}
        ratios = {x: share_ratio(x) for x in SIZES}
        derived = {x: Estimate((q - 1.0) / (q + 1.0), 0.0) for x, q in ratios.items()}

        def said(e: dict[float, Estimate]) -> dict[str, Decided]:
            below, here, above = (e[x] for x in SIZES)
            return {
                "equal": (here,),
                "below": lambda given: (beyond(below, given["margin"]),),
                "above": lambda given: (beyond(-above, given["margin"]),),
            }

        packets, exact = said(found), said(derived)
        return {
            key: Statement({tool: packets[key]}, exact[key] if model else None, equal=key == "equal") for key in packets
        }

    slide = {x: ratio(BUFFERS, "rate_estimate", x) for x in SIZES}
    westwood = {x: ratio(BUFFERS_NS2, "westwood", x) for x in (0.25, *SIZES, 4.0)}
    fusion = {x: ratio(BUFFERS, "fusion", x) for x in SIZES}
    losses = of_cases(BUFFERS).query("rule == 'rate_estimate'")
    events = {
        x: float(seeds_of(losses, "loss_events", buffer_bdp=x, flow=1).mean())
        / float(seeds_of(losses, "loss_events", buffer_bdp=x, flow=2).mean())
        for x in SIZES
    }
    every = {"RTTmin/RTT (ns-3)": slide, "Fusion (ns-3)": fusion, "Westwood+ (ns-2)": westwood}
    shown = {name: Curve(list(found), list(found.values())) for name, found in every.items()}
    name = "RTTmin/RTT (ns-3)"
    shown[name] = Curve(SIZES, shown[name].packets, [share_ratio(x) - 1.0 for x in SIZES])
    return Effects(
        statements(BUFFERS, "rate_estimate", "ns-3", model=True),
        shown,
        ("buffer over bandwidth-delay product", "rate over Reno's, less one"),
        "x",
        values={
            "slide": slide, "fusion": fusion, "derived": [share_ratio(x) for x in SIZES],
            "together": [share_ratio(x) - 1.0 for x in SIZES],
            "apart": [share_ratio(x) / events[x] - 1.0 for x in SIZES],
        },
        readings={"Westwood+, which estimates a bandwidth": statements(BUFFERS_NS2, "westwood", "ns-2", model=False)},
    )  # fmt: skip
