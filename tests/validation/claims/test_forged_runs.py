"""Runs that say otherwise turn the verdicts of the claims that stand on them: one table of forgeries, by claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest

from validation import Verdict

R, C, N, NA = Verdict.HOLDS, Verdict.CONTRADICTED, Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE
Change = Callable[[pd.DataFrame], Any]


def rows(frame: pd.DataFrame, **chosen: object) -> pd.Series:
    """Return where a table has these values."""
    mask = pd.Series(True, index=frame.index)
    for column, value in chosen.items():
        mask &= frame[column] == value
    return mask


def times(column: str, factor: float, **chosen: object) -> Change:
    """Return a change that multiplies a column, where other columns have these values."""

    def change(frame: pd.DataFrame) -> None:
        frame.loc[rows(frame, **chosen), column] *= factor

    return change


def put(column: str, value: float, **chosen: object) -> Change:
    """Return a change that sets a column, where other columns have these values."""

    def change(frame: pd.DataFrame) -> None:
        frame.loc[rows(frame, **chosen), column] = value

    return change


def swap(one: str, other: str) -> Change:
    """Return a change that exchanges two columns."""
    return lambda frame: frame.rename(columns={one: other, other: one})


def scaled(rule: str, factor: float, low: int = 0, high: int = 10**9) -> Change:
    """Return a change that multiplies the rates of a rule at these numbers of packets per loss."""

    def change(frame: pd.DataFrame) -> None:
        chosen = rows(frame, rule=rule) & frame["packets_per_loss"].between(low, high)
        frame.loc[chosen, "rate"] *= factor

    return change


class Forgery(NamedTuple):
    """A change of runs, and the verdicts on packets, or on all sides, that follow from it, by statement."""

    claim: str
    what: str
    cases: str | tuple[str, ...]
    change: Change
    expected: Mapping[Any, Any] | list[Any]
    table: str | None = None
    slow: bool = False


def params(forgeries: list[Forgery]) -> list[Any]:
    """Return forgeries as parameters of a test, of which some are slow."""
    return [
        pytest.param(each, id=f"{each.claim}, {each.what}", marks=pytest.mark.slow if each.slow else ())
        for each in forgeries
    ]


# What is forged where a change is more than a factor or a value.


def swings(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(efficiency=0.3 * (1 + np.sign(np.sin(40 * frame["time"]))))


def ripples(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(efficiency=frame["efficiency"] + 0.2 * np.sin(40 * frame["time"]))


def one_steady_run(frame: pd.DataFrame) -> pd.DataFrame:
    steady = frame["seed"] == frame["seed"].min()
    return frame.assign(efficiency=frame["efficiency"].mask(steady, 0.5))


def by_seed(column: str, first: float, step: float) -> Change:
    """Return a change by which a column is a number that grows a little with the seed: runs that are equal decide little."""
    return lambda frame: frame.assign(**{column: first + step * frame["seed"]})


def in_turn(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(transfer_time=frame["flow"])


def losing_one(frame: pd.DataFrame) -> None:
    frame.loc[3, "dropped_2"] -= 1


def gains(gain: Callable[[str], float], high: int = 15) -> Change:
    """Return a change by which pausing gains a part that depends on the arrival rates; intervals are a tenth."""

    def change(frame: pd.DataFrame) -> None:
        off = frame[rows(frame, high_threshold=20)].groupby(["arrival_rates", "rtt"])
        for (rates, rtt), throughput in off["throughput"].mean().items():
            at = rows(frame, arrival_rates=rates, rtt=rtt, high_threshold=high)
            frame.loc[at, "throughput"] = (1 + gain(rates)) * throughput
        frame["throughput_half_width"] /= 10

    return change


def falling_gain(frame: pd.DataFrame) -> None:
    off = rows(frame, arrival_rates="25 1", rtt=5.0, high_threshold=20)
    value = 1.01 * frame.loc[off, "throughput"].mean()
    put("throughput", value, arrival_rates="25 1", rtt=5.0, high_threshold=15)(frame)


def growing_with_load(frame: pd.DataFrame) -> None:
    on = rows(frame, pause="on", rtt=1.0)
    frame.loc[on, "goodput"] *= 1.0 + 1e-3 * frame["link_a"]


def slight_fall(frame: pd.DataFrame) -> None:
    for rtt in (1.0, 5.0):
        top = frame.loc[rows(frame, rtt=rtt, low_threshold=15), "throughput"].mean()
        for low in (1, 5, 10):
            put("throughput", top * (1 - 5e-4 * (15 - low)), rtt=rtt, low_threshold=low)(frame)
    frame["throughput_half_width"] /= 10


def small_gain_of_three(frame: pd.DataFrame) -> None:
    for rtt in (1.0, 5.0, 20.0):
        three = rows(frame, arrival_rates="50 25 1", rtt=rtt)
        off = frame.loc[three & rows(frame, high_threshold=20), "throughput"].mean()
        frame.loc[three & (frame["high_threshold"] < 20), "throughput"] = 1.001 * off


def less_with_more_levels(frame: pd.DataFrame) -> None:
    for rates in ("50 34 17 1", "50 38 26 13 1"):
        times("throughput", 0.7, arrival_rates=rates, high_threshold=15)(frame)


def grown_windows(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(mean_cwnd=667.0 + frame["seed"])


def starved(rule: str) -> Change:
    def change(frame: pd.DataFrame) -> pd.DataFrame:
        far = rows(frame, rule=rule, flow=2)
        return frame.assign(goodput_bits=frame["goodput_bits"].mask(far, 1.0 + frame["seed"]))

    return change


def growing_with_hops(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(goodput_bits=1e6 * frame["hops"] + frame["seed"])


def slower(how: Callable[[pd.Series], pd.Series]) -> Change:
    return lambda frame: frame.assign(transfer_time=how(frame["transfer_time"]))


def with_drops(**changed: Change) -> Change:
    """Return a change by which packets are dropped all the time."""
    return lambda frame: frame.assign(drops=np.arange(len(frame)), **changed)


WITHOUT = [tuple(f"takano2006/scenario-{n}-{kind}without-dfc" for kind in ("", "starts-")) for n in range(6)]
SHAPED = ("takano2006/scenario-1-with-dfc-shaped", "takano2006/scenario-1-with-dfc-shaped-seeds")
QUEUES = "takano2006/scenario-4-without-dfc"
DFC, VEGAS, UDP = (
    (f"takano2006/{case}", f"takano2006/{case}-seeds")
    for case in ("scenario-4-with-dfc", "scenario-4v-with-dfc", "dfc-udp")
)
BUFFERS = ("kaneko2007/buffers-ns3", "kaneko2007/buffers-seeds-ns3")
PAUSE = {
    name: f"malhotra2005/pause-{name}"
    for name in ("thresholds", "granularity", "levels", "low-threshold", "off", "load", "large-rtt")
}
RTT_FAIRNESS = tuple(
    f"kaneko2007/rtt-fairness-{case}" for case in ("ns3", "more-seeds-ns3", "ns2", "seeds-ns2", "more-seeds-ns2")
)
ALONE = tuple(f"kaneko2007/windows-alone-{case}" for case in ("ns3", "seeds-ns3", "more-seeds-ns3"))
PARKING_LOTS = tuple(f"kaneko2007/parking-lot-{case}" for case in ("ns3", "ns2", "more-seeds-ns2"))
SMALL = tuple(f"yang2001/small-{discipline}" for discipline in ("fcfs", "drr", "red", "sfq", "seeds"))
EIGHTH, PERIODIC = "zheng2002/independent-loss-tcp-eighth", "zheng2002/periodic-loss"
FORGERIES = [
    # takano2006: queues, losses, efficiencies
    *(Forgery(f"D0{n + 3}", "it swings", WITHOUT[n], swings, {"unstable": R}, slow=True) for n in (1, 2, 3, 4, 5)),
    Forgery("D04", "less", WITHOUT[1], times("efficiency", 0.4), {"low": R}),
    Forgery("D04", "a steady 0.9", WITHOUT[1], put("efficiency", 0.9), {"low": C, "unstable": C}),
    Forgery("D04", "one steady run", WITHOUT[1][0], one_steady_run, {"unstable": R}),
    Forgery("D04", "ripples with DFC", SHAPED, ripples, {"settles": C}),
    Forgery("D10", "a queue at node 1", QUEUES, put("queued", 900, node=1), {"at_node_15": C}, "occupancy"),
    Forgery("D10", "a queue that stays", QUEUES, put("queued", 900, node=15), {"drains": C}, "occupancy"),
    Forgery("D11", "a full queue in all runs", DFC, put("peak", 1800, node=3), [R, C, R, R], "nodes"),
    Forgery("D11", "packets that stay", DFC, put("queued_target", 10), {"recovers": C}, "occupancy"),
    Forgery("D16", "losses", "takano2006/scenario-4v-without-dfc", put("dropped", 1), {"lossless, without DFC": Verdict.DISAGREE},
            "flows", slow=True),
    Forgery("D16", "twice the mean with DFC", VEGAS,
            times("efficiency", 2.0, discipline="dfc"), {"same": C}, "efficiency"),
    Forgery("D17", "losses", "takano2006/scenario-4v-small-buffer-without-dfc", put("dropped", 1), {"lossy": Verdict.DISAGREE},
            "flows"),
    Forgery("D18", "equal efficiencies", "takano2006/dfc-unequal-delays", by_seed("efficiency", 0.5, 1e-4),
            {"even": R}, "efficiency"),
    Forgery("D18", "five runs that are the same", "takano2006/dfc-unequal-delays",
            put("efficiency", 0.5, flow="target"), {"even": N}, "efficiency"),
    Forgery("D19", "losses", UDP, by_seed("dropped", 10.0, 1.0),
            {f"{key}, {where}": verdict for key, verdict in (("lossless", C), ("fair", R))
             for where in ("background", "target", "both flows")}, "flows"),
    # malhotra2005
    Forgery("M01", "a lost packet", PAUSE["low-threshold"], losing_one, {"balance": (R, C)}),
    Forgery("M04", "a gain of TCP that grows with the load", "malhotra2005/tcp-link-a", growing_with_load,
            {"gain": C}),
    Forgery("M09", "a gain of TCP that stays", ("malhotra2005/tcp-readings", "malhotra2005/tcp-readings-seeds"),
            times("goodput", 1.05, reading="window 10 packets", rtt=5.0, pause="on"), {"falls": C}),
    # kaneko2007
    Forgery("K01", "Fusion behind", "kaneko2007/loss-sweep-ns3", times("goodput", 0.2, rule="fusion"),
            {"moderate": C}, slow=True),
    Forgery("K05", "an HSTCP that gets nothing", RTT_FAIRNESS, starved("highspeed"), {"least": R}, slow=True),
    Forgery("K09", "windows of the product", (*ALONE, "kaneko2007/windows-alone-ns2"), grown_windows, {"near": R}, slow=True),
    Forgery("K09", "windows below the product", ("kaneko2007/windows-alone-ns3", "kaneko2007/windows-alone-ns2"),
            put("cwnd", 600.0), {"below": N}, "series", slow=True),
    Forgery("K10", "rates that grow with the bottlenecks", PARKING_LOTS, growing_with_hops, {"hops": (R, C)},
            slow=True),
    *(Forgery("K11", f"a share with {buffer} products of buffer", BUFFERS,
              times("goodput_bits", factor, buffer_bdp=buffer, rule="rate_estimate", flow=1), {key: C},
              slow=key == "below")
      for buffer, key, factor in ((0.5, "below", 0.3), (1.0, "equal", 3.0), (2.0, "above", 3.0))),
    # zheng2002
    *(Forgery("Z02", f"{factor} of the rates", EIGHTH, scaled("TCP(1/5,1/8)", factor), {"independent": (R, verdict)},
              slow=verdict is C)
      for factor, verdict in ((1.4, R), (0.526, N), (0.4, C))),
    Forgery("Z02", "less under periodic losses", PERIODIC, scaled("TCP(1/5,1/8)", 0.4, low=50), {"periodic": (R, C)}),
    Forgery("S02", "three per cent less", "zheng2002/independent-loss-tcp", scaled("TCP(1,1/2)", 0.97),
            [(R, NA), (R, NA), (R, NA), (C, NA)]),
    Forgery("S02", "less far from the law", EIGHTH, scaled("TCP(1/5,1/8)", 0.9, high=100), {"far": (C, NA)}),
    Forgery("S01", "less at rare losses", PERIODIC, scaled("TCP(3/7,1/4)", 0.985, low=500), {"recovery": (C, NA)}),
    Forgery("S01", "more at the rarest", PERIODIC, scaled("TCP(3/7,1/4)", 1.02, low=10000), {"larger": (C, NA)}),
    Forgery("S01", "another TFRC", PERIODIC, scaled("TFRC", 1.002, high=20), {"tfrc": (C, NA)}),
    Forgery("S01", "half above one per cent loss", PERIODIC, scaled("TCP(3/7,1/4)", 0.5, high=50), [(R, NA)] * 4),
    # yang2001
    Forgery("Y10", "the order reversed", SMALL, slower(lambda t: 100.0 - t), {"order": N}),  # equal runs, of four disciplines
    Forgery("Y10", "flows that all end in their turn", SMALL, in_turn, {"order, ts/be": R}),
    Forgery("Y10", "a fourth power", SMALL, slower(lambda t: t**4), {"linear": C}),
    Forgery("Y15", "slots that starve a class", ("yang2001/priority-ageing-endless", "yang2001/priority-ageing-endless-seeds"),
            put("departed", 1, environment="ts/ts", priority=4), {"kept": C, "long": R}),
    # simulators
    Forgery("S03", "an ns-3 that is far off", "kaneko2007/loss-sweep-ns3", times("goodput", 0.6), {"ns-3": C},
            "flows"),
    Forgery("S04", "a bias of five per cent", PAUSE["thresholds"], times("throughput", 1.05),
            {"near": (C, NA), "queues": (R, NA), "rare": (R, NA)}),
    *(Forgery("S05", f"another {rule}", "kaneko2007/loss-sweep-ns3", times("goodput", factor, rule=rule), {rule: C},
              "flows", slow=rule in ("highspeed", "bic"))
      for rule, factor in (("highspeed", 0.6), ("cubic", 1.6), ("compound", 0.5), ("bic", 0.6))),
    Forgery("S20", "drops among the marks", "linux/queue-red", with_drops(), {"marks": C}, "queues"),
    Forgery("S21", "drops, and a link that is not full", "linux/queue-step",
            with_drops(left=lambda d: 0.9 * d["left"]), {"lossless": C, "full": C}, "queues"),
]  # fmt: skip


@pytest.mark.parametrize("forgery", params(FORGERIES))
@pytest.mark.usefixtures("measured_anew")
def test_forged_runs_turn_verdicts(doctor, judged, forgery: Forgery) -> None:
    """Verdicts alone are those on packets."""
    doctor(forgery.cases, forgery.change, forgery.table)
    found = judged(forgery.claim)
    expected = forgery.expected
    if isinstance(expected, list):
        expected = dict(zip(found, expected, strict=True))
    for statement, verdict in expected.items():
        sides = found[statement]
        assert (sides if isinstance(verdict, tuple) else sides.packets) == verdict, statement


OWN_EVENTS = [
    Forgery("D20", "queues exchanged", "takano2006/scenario-1-with-dfc-unshaped",
            swap("queued_target", "queued_background"), {0: C}, "occupancy"),
    Forgery("M03", "a gain that falls with the RTT", PAUSE["thresholds"], falling_gain, {"all": C}, slow=True),
    *(Forgery(claim, "noise", PAUSE["thresholds"], times("throughput_half_width", 100), {"all": N},
            slow=True) for claim in ("M03", "M06")),
    Forgery("M04", "a gain that falls with the load", (PAUSE["load"], PAUSE["thresholds"], PAUSE["granularity"]),
            gains(lambda rates: 0.3 - 0.06 * np.log(float(rates.split()[0]))), {0: R}, slow=True),
    Forgery("M05", "a slight fall", PAUSE["low-threshold"], slight_fall, {"all": R}),
    Forgery("M06", "an optimum at 15", PAUSE["thresholds"], times("throughput", 1.1, high_threshold=15), {1: R}),
    Forgery("M07", "N = 3 far below N = 2", PAUSE["granularity"], small_gain_of_three, {0: R}, slow=True),
    Forgery("M08", "rates that hardly matter", (PAUSE["levels"], PAUSE["granularity"]),
            gains(lambda rates: 0.3 if rates == "50 1" else 0.1), {"all": R}),
    Forgery("M09", "a gain that stays", PAUSE["large-rtt"], times("throughput", 1.1, rtt=1000.0, high_threshold=15),
            {0: C, 1: R}),
]  # fmt: skip
"""Forgeries of the model's own events in a simulator: statements by their place, or all of them together."""


@pytest.mark.parametrize("forgery", params(OWN_EVENTS))
def test_forged_events_of_the_chain_turn_verdicts(doctor, process, forgery: Forgery) -> None:
    doctor(forgery.cases, forgery.change, forgery.table)
    found = list(process(forgery.claim).values())
    for place, verdict in forgery.expected.items():
        assert (Verdict.all_of(found) if place == "all" else found[place]) is verdict


@pytest.mark.parametrize(
    ("claim", "place", "case", "change"),
    [
        pytest.param("M04", 1, PAUSE["load"], times("throughput", 1.3, rtt=20.0, high_threshold=15,
            arrival_rates="100 1"), marks=pytest.mark.slow),
        ("M07", 1, PAUSE["levels"], less_with_more_levels),
    ],
    ids=["an influence of the RTT that grows", "N = 4 far from N = 3"],
)  # fmt: skip
def test_forged_events_of_the_chain_end_that_a_statement_holds(doctor, process, claim, place, case, change):
    doctor(case, change)
    assert list(process(claim).values())[place] is not R


def test_a_dependence_on_mu2_is_seen(doctor, judged) -> None:
    doctor(PAUSE["off"], times("throughput", 1.06, paused_rate=50.0))
    assert Verdict.all_of(sides.packets for sides in judged("M02").values()) is C


@pytest.mark.slow
def test_an_answer_to_a_question_of_ours_gives_no_verdict(doctor, check) -> None:
    """K10 asks how rates depend on the bottlenecks: its answer gives the claim, a caption, no verdict."""
    doctor(PARKING_LOTS, growing_with_hops)
    found = check("K10")
    assert (found.model, found.simulation) == (NA, NA)
