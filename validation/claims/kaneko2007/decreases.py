"""The decrease RTTmin/RTT beside a Reno flow, by the buffer (K11)."""

from __future__ import annotations

from validation.claims.effect_claims import effects
from validation.claims.effect_statements import Curve, Decided, Effects, Statement, beyond
from validation.claims.kaneko2007 import runs
from validation.claims.kaneko2007.runs import FAIR, of_cases, seeds_of, uneven
from validation.statistics import Estimate

BUFFERS, BUFFERS_NS2 = ("kaneko2007/buffers-ns3", "kaneko2007/buffers-seeds-ns3"), ("kaneko2007/buffers-ns2",)
"""Cases of each simulator; that of further seeds has the rule of the slide alone."""
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


def share_difference(size: float) -> float:
    """Return the difference of the flow's rate from Reno's over their sum, both seeing every loss."""
    ratio = share_ratio(size)
    return (ratio - 1.0) / (ratio + 1.0)


@effects("K11", cases=(*BUFFERS, *BUFFERS_NS2), equal=FAIR)
def westwood_decrease() -> Effects:
    """Measure how the rate of a flow with the decrease RTTmin/RTT differs from Reno's by the buffer."""

    def differences(cases: tuple[str, ...], rule: str, sizes: tuple[float, ...] = SIZES) -> dict[float, Estimate]:
        frame = of_cases(*cases)
        return {x: uneven(*(seeds_of(frame, rule=rule, buffer_bdp=x, flow=flow) for flow in (1, 2))) for x in sizes}

    slide, fusion = (differences(BUFFERS, rule) for rule in ("rate_estimate", "fusion"))
    westwood = differences(BUFFERS_NS2, "westwood", (0.25, *SIZES, 4.0))
    derived = {x: Estimate(share_difference(x), 0.0) for x in SIZES}
    losses = of_cases(*BUFFERS).query("rule == 'rate_estimate'")
    events = {
        x: float(seeds_of(losses, "loss_events", buffer_bdp=x, flow=1).mean())
        / float(seeds_of(losses, "loss_events", buffer_bdp=x, flow=2).mean())
        for x in SIZES
    }
    apart = {x: share_ratio(x) / events[x] for x in SIZES}
    return Effects(
        _statements({"ns-3": slide}, derived),
        {
            "RTTmin/RTT (ns-3)": Curve(SIZES, list(slide.values()), [e.value for e in derived.values()]),
            "Fusion (ns-3)": Curve(SIZES, list(fusion.values())),
            "Westwood+ (ns-2)": Curve(list(westwood), list(westwood.values())),
        },
        ("buffer over bandwidth-delay product", "difference of the rate from Reno's over their sum"),
        "x",
        values={
            "slide": slide, "fusion": fusion, "ratios": [share_ratio(x) for x in SIZES],
            "together": [e.value for e in derived.values()],
            "apart": [(q - 1.0) / (q + 1.0) for q in apart.values()],
            "seeds": slide[SIZES[0]].dof + 1,
        },
        readings={"Westwood+, which estimates a bandwidth": _statements({"ns-2": westwood}, None)},
        expected=(-FAIR, FAIR),
    )  # fmt: skip


def _statements(
    packets: dict[str, dict[float, Estimate]], derived: dict[float, Estimate] | None
) -> dict[str, Statement]:
    """Return the statements on differences from Reno by the buffer, of one simulator and of the derivation.

    That a rate is not Reno's is an order: it is certainly more, or less. The statements beyond the margin ask for more than
    the slide says.
    """
    below, here, above = SIZES

    def quantities(by_size: dict[float, Estimate]) -> dict[str, Decided]:
        return {
            "equal": (by_size[here],),
            "more": (by_size[below],),
            "less": (-by_size[above],),
            "below": lambda thresholds: (beyond(by_size[below], thresholds["margin"]),),
            "above": lambda thresholds: (beyond(-by_size[above], thresholds["margin"]),),
        }

    ((tool, by_size),) = packets.items()
    seen, exact = quantities(by_size), quantities(derived) if derived else {}
    return {key: Statement({tool: seen[key]}, exact.get(key), equal=key == "equal") for key in seen}


westwood_decrease.constants_of(runs)
