"""Flows of one kind behind RED, and one flow by its window (Z03 to Z05)."""

from __future__ import annotations

import itertools

from validation.claims.effect_claims import Curve, Effects, Statement, beyond, by, effects, where
from validation.claims.zheng2002.red import LOW_THRESHOLDS, SLOW, Group, fixed_point
from validation.statistics import Estimate, difference

SWEEP = "zheng2002/window-sweep"
MANY = "zheng2002/flows-one-kind"
LOW = "zheng2002/flows-one-kind-low-thresholds"
LATE = "zheng2002/flows-one-kind-late-timers"
RULES = ("TCP(1,1/2)", "TCP(1/5,1/8)", "TCP(3/7,1/4)", "TFRC")
"""In the order of the paper's utilisation, the largest first."""
PEAK = 20
"""Flows with the largest utilisation, as the paper has it."""
VISIBLE = 1e-3
"""Least difference of the utilisation that a figure shows."""
FULL = 120
"""Window from which the paper's losses begin, packets."""
OTHERS = {"ns-2's decrease setting is b": (MANY, "b"), "RED thresholds of 5 and 15": (LOW, "1-b")}
"""Readings beside the default: the case, and what ns-2's ``decrease_num_`` means."""


@effects("Z03", cases=(SWEEP,))
def one_flow_by_its_window() -> Effects:
    """Measure utilisation and loss of one flow by its largest window."""
    frame = where(SWEEP, "link", background=0)
    used, lost = (by(frame, "window", column) for column in ("utilisation", "loss"))
    below = [window for window in used if window <= FULL]
    rises = [beyond(difference(used[b], used[a]), VISIBLE) for a, b in itertools.pairwise(below)]
    above = [window for window in used if window > FULL]
    first = used[below[0]].value / below[0]
    linear = tuple(min(first * window, 1.0) for window in used)
    grows = [linear[n + 1] - linear[n] - VISIBLE for n in range(len(below) - 1)]
    return Effects(
        {
            "rises": Statement(tuple(rises), tuple(Estimate(value, 0.0) for value in grows)),
            "lossless": Statement(tuple(beyond(-lost[window], -1e-5) for window in below)),
            "losses": Statement(tuple(lost[window] for window in above)),
            "lower": Statement(
                tuple(beyond(difference(used[FULL], used[w]), VISIBLE) for w in above)
            ),
            "plateau": Statement(
                (difference(used[above[-1]], Estimate(used[above[0]].value, 0.0)),), equal=True
            ),
        },
        {
            "utilisation": Curve(list(used), list(used.values()), linear),
            "loss (%)": Curve(
                list(lost), [Estimate(100 * e.value, 100 * e.error, e.dof) for e in lost.values()]
            ),
        },
        ("largest window (packets)", "of the link (1)"),
        values={"full": next(w for w in used if used[w].value > 1 - VISIBLE), "used": used},
    )


def _by_number(case: str, reading: str, rule: str, column: str) -> dict[int, Estimate]:
    frame = where(case, "link", rule=rule)
    if "reading" in frame:
        own = reading if rule.startswith(("TCP(1/5", "TCP(3/7")) else "1-b"
        frame = frame[frame["reading"] == own]
    return by(frame, "number", column)


def _losses(case: str, rule: str, numbers: list[int]) -> list[float]:
    """Return the loss rates of the fixed point of RED by the number of flows of a kind."""
    link = SLOW if case == MANY else LOW_THRESHOLDS
    return [fixed_point(Group(rule, number), link=link).loss for number in numbers]


def _grows(values: list[float]) -> tuple[Estimate, ...]:
    return tuple(Estimate(b - a, 0.0) for a, b in itertools.pairwise(values))


@effects("Z04", cases=(MANY, LOW, LATE))
def number_of_tcp_flows() -> Effects:
    """Measure utilisation and loss of TCP flows by their number."""

    def statements(case: str) -> dict[str, Statement]:
        used, lost = (_by_number(case, "1-b", RULES[0], c) for c in ("utilisation", "loss"))
        others = [number for number in used if number != PEAK]
        falls = [beyond(difference(used[PEAK], used[n]), VISIBLE) for n in others]
        steps = [difference(lost[b], lost[a]) for a, b in itertools.pairwise(lost)]
        exact = _losses(case, RULES[0], list(used))
        return {
            "peak": Statement(tuple(falls), tuple(Estimate(-VISIBLE, 0.0) for _ in others)),
            "loss": Statement(tuple(steps), _grows(exact)),
        }

    used, lost = (_by_number(MANY, "1-b", RULES[0], c) for c in ("utilisation", "loss"))
    return Effects(
        statements(MANY),
        {
            "utilisation": Curve(list(used), list(used.values()), [1.0] * len(used)),
            "loss": Curve(list(lost), list(lost.values()), _losses(MANY, RULES[0], list(lost))),
        },
        ("flows", "of the link, of the packets (1)"),
        values={
            "used": used, "lost": lost,
            "ends": {case: _ends(case) for case in (MANY, LOW, LATE)},
        },
        readings={
            "RED thresholds of 5 and 15": statements(LOW),
            "RED thresholds of 5 and 15 and timeouts of at least 1 s": statements(LATE),
        },
    )  # fmt: skip


def _ends(case: str) -> tuple[Estimate, Estimate]:
    """Return by how much less is used with the fewest and with the most flows than at the peak."""
    used = _by_number(case, "1-b", RULES[0], "utilisation")
    return difference(used[PEAK], used[min(used)]), difference(used[PEAK], used[max(used)])


@effects("Z05", cases=(MANY, LOW))
def kinds_of_flows() -> Effects:
    """Measure utilisation and loss of flows of one kind."""

    def statements(case: str, reading: str) -> dict[str, Statement]:
        used, lost = (
            {rule: _by_number(case, reading, rule, column) for rule in RULES}
            for column in ("utilisation", "loss")
        )
        pairs = list(itertools.pairwise(RULES))
        numbers = list(used[RULES[0]])
        order = [beyond(difference(used[a][n], used[b][n]), VISIBLE) for a, b in pairs
                 for n in numbers]  # fmt: skip
        reverse = [difference(lost[b][n], lost[a][n]) for a, b in pairs for n in numbers]
        worse = [difference(lost[r][b], lost[r][a]) for r in RULES
                 for a, b in itertools.pairwise(numbers)]  # fmt: skip
        model = {rule: _losses(case, rule, numbers) for rule in RULES}
        orders = [b - a for one, two in pairs for a, b in zip(model[one], model[two], strict=True)]
        return {
            "utilisation": Statement(tuple(order), (Estimate(-VISIBLE, 0.0),)),
            "loss": Statement(tuple(reverse), tuple(Estimate(round(x, 6), 0.0) for x in orders)),
            "worse": Statement(tuple(worse), tuple(e for r in RULES for e in _grows(model[r]))),
        }

    lost = {rule: _by_number(MANY, "1-b", rule, "loss") for rule in RULES}
    return Effects(
        statements(MANY, "1-b"),
        {
            rule: Curve(list(values), list(values.values()), _losses(MANY, rule, list(values)))
            for rule, values in lost.items()
        },
        ("flows of one kind", "loss (1)"),
        values={
            "most": max(lost[RULES[0]]),
            "lost": lost,
            "order": sorted(RULES, key=lambda rule: lost[rule][max(lost[rule])].value),
        },
        readings={name: statements(*what) for name, what in OTHERS.items()},
    )
