"""Reference answers of statistics and judges; see `benchmarks.planted_faults.probes`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.planted_faults.probes import Answers, attempt, numbers


def statistics(_: str) -> Answers:
    """All statistics of random samples, and verdicts on them."""
    from validation import statistics as v

    rng = np.random.default_rng(5)
    for n in range(25):
        one, other = rng.normal(1.0, 0.3, 4 + n % 7), rng.normal(1.0 + 0.1 * (n % 9 - 4), 0.3, 5)
        a, b = v.of_runs(one), v.of_runs(other)
        calls: dict[str, Callable[[], Any]] = {
            "estimates": lambda a=a, b=b: [a.p_positive(), *a.interval, *a.bars, a.half_width, a.score(0.9), (-b).p_positive()],
            "sums": lambda a=a, b=b: [(*e.interval, e.p_positive()) for e in (v.difference(a, b), v.ratio(a, b), v.ratio_gain(a, b), v.combine([a, b], [1, 2]), v.weakest([a, b]))],
            "slope": lambda a=a, b=b: v.slope([a, b, a], [1.0, 2.0, 4.0]).interval,
            "intervals": lambda x=one: [*v.interval(x), v.half_width(x), *v.bootstrap_interval(x, np.mean, seed=1)],
            "swing": lambda x=one: [z for k in (1, 2) for z in numbers(v.swing(np.array([x, 2 * x]), k).relative)],
            "tests": lambda x=one, y=other: [v.rank_test(x, y), v.variance_test(2.0 + n, 4, 1.5, 9), v.quantile(3 + n, 0.9)],  # noqa: B023
            "chi2": lambda x=one: v.chi2_test(list(x)),
            "welch": lambda a=a, b=b: v.welch_test([a, b, a]),
            "normal": lambda x=one: [z for z in v.normality(list(x)) if isinstance(z, float)],
        }  # fmt: skip
        for name, call in calls.items():
            yield f"{name} {n}", attempt(call)
        yield f"verdicts {n}", str([
            v.everywhere([a, b]), v.everywhere([v.difference(a, b), v.difference(b, a)]), v.ranked(one, other), v.above(one, other),
            v.above(other, one, 0.1), v.below(v.interval(one), 1.1, 0.05), v.monotone(np.diff(one)),
            v.within(one, np.full(len(one), 0.05), 0.3 + 0.02 * n),
        ])  # fmt: skip


def judges(path: str) -> Answers:
    """Verdicts of the claims that a module judges, at its thresholds and at half and twice their values."""
    from validation.checks import subjects
    from validation.claims import ledger
    from validation.judgements.verdicts import Verdict

    for pair in ((True, False), (False, True), (False, False)):
        yield f"verdict {pair}", str(Verdict.of(*pair))
    ledger()
    module = path.removesuffix(".py").replace("/", ".")
    for id, subject in subjects().items():
        if module not in subject.check.modules() and module != subject.check.measure.__module__:
            continue
        measured = subject.measured()
        tried: list[dict[str, float]] = [{}]
        for name, value in subject.check.thresholds().items():
            tried += [{name: value * factor} for factor in (0.25, 0.5, 2.0, 4.0)]
        for thresholds in tried:
            found = subject.check.in_all_readings(measured, thresholds)
            yield (
                f"{id} {thresholds}",
                str(
                    [
                        (part.statement, part.verdicts) if hasattr(part, "verdicts") else str(part)
                        for part in found.parts
                    ]
                ),
            )


PROBES: dict[str, Callable[[str], Answers]] = {"statistics": statistics, "judges": judges}
