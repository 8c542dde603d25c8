"""Flows of one kind behind RED, and one flow by its window (Z03 to Z05)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import pandas as pd

from validation.claims.effect_claims import by, effects, where
from validation.claims.effect_statements import Curve, Decided, Effects, Statement, beyond
from validation.claims.zheng2002.level import ACCESS_DELAY, SENDERS, Dumbbell, of_link
from validation.claims.zheng2002.red import LOW_THRESHOLDS, SLOW, Group, fixed_point
from validation.networks.further_seeds import CASE
from validation.statistics import PART, Estimate, difference, of_runs, ratio

SWEEP, MORE_SEEDS = "zheng2002/window-sweep", "zheng2002/window-sweep-seeds"
BACKGROUND = {"with background traffic": 5}
"""A reading of one flow: the random flows that Sect. 3.2 adds in all scenarios, while Sect. 3.3 speaks of one TCP flow."""
ONE_KIND = "zheng2002/flows-one-kind"
LOW_THRESHOLD_CASE = "zheng2002/flows-one-kind-low-thresholds"
LATE_TIMER_CASE = "zheng2002/flows-one-kind-late-timers"
SMALL_WINDOW_CASE = "zheng2002/flows-one-kind-small-windows"
SMALL_WINDOW_SEEDS = "zheng2002/flows-one-kind-small-windows-seeds"
"""Further seeds of TCP: five runs without losses are too few."""
RULES = ("TCP(1,1/2)", "TCP(1/5,1/8)", "TCP(3/7,1/4)", "TFRC")
"""In the order of the paper's utilisation, the largest first."""
PEAK = 20
"""Flows with the largest utilisation, as the paper has it."""
VISIBLE = 1e-3
"""Least difference of the utilisation that a figure shows."""
LOSSLESS = 1e-5
"""Part of the packets below which a loss counts as none: a run sends some 100,000."""
SHOWN = 5e-3
"""Loss of many flows that a figure shows as more than none: a twentieth of that of the most flows. Set after the runs: windows of
five packets lose 0.0022 of theirs with 20 flows.
"""
FULL = 120
"""Window from which the paper's losses begin, packets."""
LAWS = {"TCP(1,1/2)": "independent-loss-tcp", "TCP(1/5,1/8)": "independent-loss-tcp-eighth"}
"""Cases with the rates at a given loss rate, by kind."""
SPACINGS = (20, 1000)
"""Packets per loss: about that of the most flows, and few losses."""
SMALL_WINDOWS = "windows of 5 packets at most, RED thresholds of 5 and 15, and timeouts of at least 1 s"
"""A reading in which ten flows lose nothing, as in the paper's Fig. 4."""
OTHERS = {
    "ns-2's decrease setting is b": (ONE_KIND, "b"),
    "RED thresholds of 5 and 15": (LOW_THRESHOLD_CASE, "1-b"),
    "ns-2's decrease setting is b and RED thresholds of 5 and 15": (LOW_THRESHOLD_CASE, "b"),
    SMALL_WINDOWS: (SMALL_WINDOW_CASE, "1-b"),
}
"""Readings beside the default: the case, and what ns-2's ``decrease_num_`` means."""


LOWER, HIGH = 60, 90
"""Windows in packets: one below that at which the paper calls the utilisation high, and that one."""


class Swept(NamedTuple):
    """Utilisation and loss by the largest window in packets."""

    used: dict[int, Estimate]
    lost: dict[int, Estimate]

    @property
    def below(self) -> list[int]:
        """The windows up to which the paper has no losses."""
        return [window for window in self.used if window <= FULL]

    @property
    def above(self) -> list[int]:
        """The others."""
        return [window for window in self.used if window > FULL]


def _swept(background: int) -> Swept:
    """Return what ns-2 has with so many sources of background traffic."""
    frame = pd.concat([where(case, "link", background=background) for case in (SWEEP, MORE_SEEDS)])
    return Swept(by(frame, "window", "utilisation", PART), by(frame, "window", "loss", PART))


def _quantities(swept: Swept) -> dict[str, Decided]:
    """Return what decides each statement on one flow."""
    used, lost = swept
    first, *_, last = swept.above
    return {
        "rises": tuple(beyond(difference(used[b], used[a]), -VISIBLE) for a, b in itertools.pairwise(swept.below)),
        "high": (beyond(difference(used[HIGH], used[LOWER]), VISIBLE),),
        "lossless": lambda given: tuple(beyond(-lost[w], -given["lossless"]) for w in swept.below),
        "losses": tuple(lost[window] for window in swept.above),
        "lower": tuple(beyond(difference(used[FULL], used[w]), VISIBLE) for w in swept.above),
        "plateau": (difference(used[last], used[first]),),
    }


def _statements(
    packets: Swept, model: Mapping[str, Decided] | None = None, level: Swept | None = None
) -> dict[str, Statement]:
    """Return the statements on one flow by ns-2, and by the model and hopflow's packet level where they have the setting."""
    least = {"rises": -VISIBLE, "high": VISIBLE, "lower": VISIBLE}
    own = _quantities(level) if level else {}
    return {
        key: Statement(each, (model or {}).get(key), key == "plateau", level=own.get(key), least=least.get(key, 0.0))
        for key, each in _quantities(packets).items()
    }


@effects("Z03", cases=(SWEEP, MORE_SEEDS), least=VISIBLE, also={"lossless": LOSSLESS})
def one_flow_by_its_window() -> Effects:
    """Measure utilisation and loss of one flow by its largest window."""
    swept = _swept(0)
    used, lost = swept
    first = used[swept.below[0]].value / swept.below[0]
    linear = tuple(min(first * window, 1.0) for window in used)
    grows = [linear[n + 1] - linear[n] + VISIBLE for n in range(len(swept.below) - 1)]
    own = Swept(*(
        {window: of_link(Dumbbell(RULES[:1], window=window), column) for window in used}
        for column in ("utilisation", "loss")
    ))  # fmt: skip
    model: dict[str, Decided] = {
        "rises": tuple(Estimate(value, 0.0) for value in grows),
        "high": (Estimate(first * (HIGH - LOWER) - VISIBLE, 0.0),),
    }
    others = {name: _swept(number) for name, number in BACKGROUND.items()}
    return Effects(
        _statements(swept, model, own),
        {
            "utilisation": Curve(list(used), list(used.values()), linear, list(own.used.values())),
            **{f"utilisation {name}": Curve(list(each.used), list(each.used.values())) for name, each in others.items()},
            "loss (%)": Curve(
                list(lost),
                [Estimate(100 * e.value, 100 * e.error, e.dof) for e in lost.values()],
                level=[Estimate(100 * e.value, 100 * e.error, e.dof) for e in own.lost.values()],
            ),
        },
        ("largest window (packets)", "of the link (1)"),
        values={"full": next(w for w in used if used[w].value > 1 - VISIBLE), "used": used,
                "others": {name: [each.used[w] for w in (FULL - 20, FULL - 10, FULL)] for name, each in others.items()},
                "rtt": [_full(0.0), _full(LONGER)], "product": SLOW.capacity * BASE_RTT,
                "longer": SLOW.capacity * (BASE_RTT + 4.0 * LONGER)},
        readings={name: _statements(each) for name, each in others.items()},
    )  # fmt: skip


BASE_RTT, LONGER = 0.048, 0.004
"""Round-trip time without queues, and a delay to be added to each access link, s."""


def _full(longer: float) -> int:
    """Return the smallest window in tens that fills the link at hopflow's packet level."""
    flow = Dumbbell(RULES[:1], (ACCESS_DELAY + longer,))
    windows = range(60, 160, 10)
    used = (of_link(flow._replace(window=float(w)), "utilisation").value for w in windows)
    return next(w for w, u in zip(windows, used, strict=True) if u > 1.0 - VISIBLE)


def _by_number(case: str, reading: str, rule: str, column: str) -> dict[int, Estimate]:
    further = (SMALL_WINDOW_SEEDS,) if case == SMALL_WINDOW_CASE and rule == RULES[0] else ()
    frame = pd.concat([where(each, "link", rule=rule) for each in (case, *further)])
    if "reading" in frame:
        own = reading if rule.startswith(("TCP(1/5", "TCP(3/7")) else "1-b"
        frame = frame[frame["reading"] == own]
    return by(frame, "number", column)


def _losses(case: str, rule: str, numbers: list[int]) -> list[float]:
    """Return the loss rates of the fixed point of RED by the number of flows of a kind."""
    link = SLOW if case == ONE_KIND else LOW_THRESHOLDS
    return [fixed_point(Group(rule, number), link=link).loss for number in numbers]


NUMBERS = (10, 20, 40, 70)
"""Flows at hopflow's packet level."""


def own_by_number(rule: str) -> tuple[dict[int, Estimate], dict[int, Estimate]]:
    """Return utilisation and loss of flows of a kind at hopflow's packet level, by their number."""
    every = {n: Dumbbell((rule,) * n) for n in NUMBERS}
    used, lost = ({n: of_link(flows, column) for n, flows in every.items()} for column in ("utilisation", "loss"))
    return used, lost


def _grows(values: list[float]) -> tuple[Estimate, ...]:
    return tuple(Estimate(b - a, 0.0) for a, b in itertools.pairwise(values))


@effects(
    "Z04",
    cases=(ONE_KIND, LOW_THRESHOLD_CASE, LATE_TIMER_CASE, SMALL_WINDOW_CASE, SMALL_WINDOW_SEEDS, CASE),
    least=VISIBLE,
    also={"lossless": SHOWN},
)
def number_of_tcp_flows() -> Effects:
    """Measure utilisation and loss of TCP flows by their number."""

    def statements(case: str) -> dict[str, Statement]:
        used, lost = (_by_number(case, "1-b", RULES[0], c) for c in ("utilisation", "loss"))
        others = [number for number in used if number != PEAK]
        falls = [beyond(difference(used[PEAK], used[n]), VISIBLE) for n in others]
        own, own_lost = own_by_number(RULES[0])
        less = [beyond(difference(own[PEAK], own[n]), VISIBLE) for n in own if n != PEAK]
        steps, rises = _after_the_peak(lost), _after_the_peak(own_lost)
        many = [n for n in used if n >= PEAK]
        exact = None if case == SMALL_WINDOW_CASE else _grows(_losses(case, RULES[0], many))
        return {
            "lossless": Statement(
                lambda given: tuple(beyond(-lost[n], -given["lossless"]) for n in lost if n <= PEAK),
                level=lambda given: tuple(beyond(-own_lost[n], -given["lossless"]) for n in own_lost if n <= PEAK),
            ),
            "peak": Statement(
                tuple(falls),
                level=tuple(less),
                least=VISIBLE,
            ),
            "falls": Statement(_falls_after_the_peak(used), level=_falls_after_the_peak(own), least=VISIBLE),
            "loss": Statement(steps, exact, level=rises),
        }

    used, lost = (_by_number(ONE_KIND, "1-b", RULES[0], c) for c in ("utilisation", "loss"))
    late = {n: e.value for n, e in _by_number(LATE_TIMER_CASE, "1-b", RULES[0], "utilisation").items()}
    return Effects(
        statements(ONE_KIND),
        {
            "utilisation": Curve(list(used), list(used.values()), [1.0] * len(used)),
            "loss": Curve(list(lost), list(lost.values()), _losses(ONE_KIND, RULES[0], list(lost))),
        },
        ("flows", "of the link, of the packets (1)"),
        values={
            "used": used, "lost": lost, "own": own_by_number(RULES[0])[1],
            "ends": {case: _ends(case) for case in (ONE_KIND, LOW_THRESHOLD_CASE, LATE_TIMER_CASE)},
            "late": late, "next": min(n for n in late if n > PEAK), "fall": _fall_after_the_peak(),
            "certain": beyond(_fall_after_the_peak(), VISIBLE),
            "small": [_by_number(SMALL_WINDOW_CASE, "1-b", RULES[0], c) for c in ("utilisation", "loss")],
        },
        readings={
            "RED thresholds of 5 and 15": statements(LOW_THRESHOLD_CASE),
            "RED thresholds of 5 and 15 and timeouts of at least 1 s": statements(LATE_TIMER_CASE),
            SMALL_WINDOWS: statements(SMALL_WINDOW_CASE),
        },
    )  # fmt: skip


def _fall_after_the_peak() -> Estimate:
    """Return by how much less is used at the first number of flows above the peak, with late timers."""
    used = _by_number(LATE_TIMER_CASE, "1-b", RULES[0], "utilisation")
    return difference(used[PEAK], used[min(n for n in used if n > PEAK)])


def _falls_after_the_peak(used: dict[int, Estimate]) -> tuple[Estimate, ...]:
    """Return by how much more than a figure shows the utilisation falls at each step of the number of flows from the peak on."""
    return tuple(beyond(-step, VISIBLE) for step in _after_the_peak(used))


def _after_the_peak(by_number: dict[int, Estimate]) -> tuple[Estimate, ...]:
    """Return by how much utilisation or loss grows at each step of the number of flows from the peak on."""
    many = [n for n in by_number if n >= PEAK]
    return tuple(difference(by_number[b], by_number[a]) for a, b in itertools.pairwise(many))


def _ends(case: str) -> tuple[Estimate, Estimate]:
    """Return by how much less is used with the fewest and with the most flows than at the peak."""
    used = _by_number(case, "1-b", RULES[0], "utilisation")
    return difference(used[PEAK], used[min(used)]), difference(used[PEAK], used[max(used)])


@effects(
    "Z05",
    cases=(
        CASE,
        ONE_KIND,
        LOW_THRESHOLD_CASE,
        SMALL_WINDOW_CASE,
        SMALL_WINDOW_SEEDS,
        *(f"zheng2002/{case}" for case in LAWS.values()),
    ),
    least=VISIBLE,
)
def kinds_of_flows() -> Effects:
    """Measure utilisation and loss of flows of one kind."""
    lost = {rule: _by_number(ONE_KIND, "1-b", rule, "loss") for rule in RULES}
    return Effects(
        _of_kinds(ONE_KIND, "1-b"),
        {
            rule: Curve(list(values), list(values.values()), _losses(ONE_KIND, rule, list(values)))
            for rule, values in lost.items()
        },
        ("flows of one kind", "loss (1)"),
        values={
            "most": max(lost[RULES[0]]),
            "lost": lost,
            "law": [below(spacing) for spacing in SPACINGS],
            "least": _excess(lost, RULES[1]),
            "quarter": _excess(lost, RULES[2]),
            "own": {rule: own_by_number(rule)[1] for rule in SENDERS},
            "order": sorted(RULES, key=lambda rule: lost[rule][max(lost[rule])].value),
        },
        readings={name: _of_kinds(*what) for name, what in OTHERS.items()},
    )


def _of_kinds(case: str, reading: str) -> dict[str, Statement]:
    """Return the statements on flows of one kind in a reading; the model gives every TCP(a,b) one law, and judges no order of losses."""
    used, lost = (
        {rule: _by_number(case, reading, rule, column) for rule in RULES} for column in ("utilisation", "loss")
    )
    pairs = list(itertools.pairwise(RULES))
    numbers = list(used[RULES[0]])
    order = [beyond(difference(used[a][n], used[b][n]), VISIBLE) for a, b in pairs
             for n in numbers]  # fmt: skip
    reverse = [difference(lost[b][n], lost[a][n]) for a, b in pairs for n in numbers]
    worse = [difference(lost[r][b], lost[r][a]) for r in RULES
             for a, b in itertools.pairwise(numbers)]  # fmt: skip
    falls = [beyond(difference(used[r][a], used[r][b]), VISIBLE) for r in RULES
             for a, b in ((numbers[0], numbers[-1]),)]  # fmt: skip
    sinks = [difference(used[r][a], used[r][b]) for r in RULES for a, b in itertools.pairwise(numbers)]
    model = {} if case == SMALL_WINDOW_CASE else {rule: _losses(case, rule, numbers) for rule in RULES}
    own = {rule: own_by_number(rule) for rule in SENDERS}
    apart = [(own[a], own[b]) for a, b in itertools.pairwise(own)]
    above = [beyond(difference(a[n], b[n]), VISIBLE) for (a, _), (b, _) in apart for n in NUMBERS]
    return {
        "utilisation": Statement(tuple(order), level=tuple(above), least=VISIBLE),
        "loss": Statement(
            tuple(reverse),
            level=tuple(difference(b[n], a[n]) for (_, a), (_, b) in apart for n in NUMBERS),
        ),
        "falls": Statement(
            tuple(falls),
            level=tuple(
                beyond(difference(own[rule][0][NUMBERS[0]], own[rule][0][NUMBERS[-1]]), VISIBLE) for rule in own
            ),
            least=VISIBLE,
        ),
        "sinks": Statement(tuple(sinks), level=tuple(-rise for rise in _steps([used for used, _ in own.values()]))),
        "worse": Statement(
            tuple(worse),
            tuple(e for losses in model.values() for e in _grows(losses)),
            level=_steps([lost for _, lost in own.values()]),
        ),
    }


def _steps(kinds: list[dict[int, Estimate]]) -> tuple[Estimate, ...]:
    """Return by how much a quantity of each kind grows from each number of flows to the next, at hopflow's packet level."""
    pairs = list(itertools.pairwise(NUMBERS))
    return tuple(difference(by_number[b], by_number[a]) for by_number in kinds for a, b in pairs)


def below(spacing: int) -> Estimate:
    """Return the rate of TCP(1/5,1/8) over TCP's, less one, where one packet in so many is lost."""
    gentle, tcp = (
        of_runs(where(f"zheng2002/{LAWS[rule]}", packets_per_loss=spacing)["goodput"].to_numpy())
        for rule in (RULES[1], RULES[0])
    )
    return difference(ratio(gentle, tcp), Estimate(1.0, 0.0))


def _excess(lost: dict[str, dict[int, Estimate]], rule: str) -> dict[int, Estimate]:
    """Return TCP's loss over that of another kind, less one, by the number of flows."""
    return {n: difference(ratio(each, lost[rule][n]), Estimate(1.0, 0.0)) for n, each in lost[RULES[0]].items()}
