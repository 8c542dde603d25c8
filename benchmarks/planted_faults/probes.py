"""Reference answers of each group: ``python -m benchmarks.planted_faults.probes GROUP PATH`` prints them as JSON.

They say whether a fault that no test notices changes an answer. They are many and small; what is right
is not asked here, only whether something is different.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

Answers = Iterator[tuple[str, Any]]
EVENTS = 24
"""Random states, and events, at which each function of a rule is evaluated as plain Python."""
FUNCTIONS = (
    "on_ack",
    "on_loss",
    "on_timeout",
    "on_mark",
    "on_drop",
    "on_delivery",
    "on_feedback",
    "on_time",
)


def numbers(value: Any) -> list[float]:
    """Return all numbers of a value, in order."""
    return [float(x) for x in np.ravel(np.asarray(value, dtype=float))]


def attempt(call: Callable[[], Any]) -> Any:
    """Return the numbers that a call returns, or its error."""
    try:
        return numbers(call())
    except Exception as error:  # noqa: BLE001
        return f"{type(error).__name__}: {error}"


def public_calls(package: str) -> Answers:
    """All public functions of a package with the valid arguments of the fuzz."""
    from benchmarks.fuzz.judging import numbers_of
    from benchmarks.fuzz.runs import answer
    from benchmarks.fuzz.targets import targets

    for target in targets():
        if target.call.__module__.startswith(package):
            yield f"call of {target.name}", attempt(lambda t=target: numbers_of(answer(t)))


def rules(path: str) -> Answers:
    """All functions of all rules at random states; rates, peaks and domains; slow starts."""
    import responsefn as r

    starts = [start(r.Reno()) for start in (r.hystart, r.limited_slow_start)]
    own = path.rsplit("/", 1)[-1].removesuffix(".py")
    for entry in [*r.catalogue().entries, r.NS2Vegas(), *starts]:
        near = own in type(entry).__module__ or own in {"base", "rate_rule", "delivery_rule"}
        if hasattr(entry, "State"):
            yield from _evaluations(entry)
        yield f"{entry!r} domain", str(getattr(entry, "domain", None))
        yield f"{entry!r} parameters", str(entry.params)
        if not near:
            continue
        for p in (0.03, 3e-3, 1e-5):
            for rtt in (0.01, 0.2):
                for bandwidth in (None, 2000.0):
                    name = f"{entry!r} at p = {p:g}, rtt = {rtt:g}, bandwidth = {bandwidth}"
                    yield (
                        f"rate of {name}",
                        attempt(lambda p=p, t=rtt, b=bandwidth: entry.rate(p, t, b)),  # noqa: B023
                    )
                    if hasattr(entry, "peak_window"):
                        yield (
                            f"peak of {name}",
                            attempt(lambda p=p, t=rtt, b=bandwidth: entry.peak_window(p, t, b)),  # noqa: B023
                        )
        for rate in (30.0, 400.0, 1900.0):
            more = {"bandwidth": 2000.0} if entry.capacity == "needed" else {}
            yield (
                f"inverse of {entry!r} at {rate:g}",
                attempt(lambda e=entry, x=rate, m=more: r.invert(e, x, 0.1, **m)),
            )
        for changed in entry.params._fields:
            for value in (-1.0, 0.0, 0.5, 1.0, 2.0):
                yield (
                    f"{entry!r} {changed}={value}",
                    attempt(lambda n=changed, v=value: (entry.replace(**{n: v}), 0)[1]),  # noqa: B023
                )


def _evaluations(rule: Any) -> Answers:
    rng = np.random.default_rng(1)
    fields = rule.State._fields
    for name in FUNCTIONS:
        if not hasattr(rule, name):
            continue
        function = getattr(rule, name)
        for n in range(EVENTS):
            s = rule.State(*(_size(field, rng) for field in fields))
            s = s._replace(**{k: float(rng.integers(0, 4)) for k in fields if k in _counts(fields)})
            e = _event(rng)
            yield f"{rule!r}.{name} {n}", attempt(lambda f=function, s=s, e=e: f(s, rule.params, e))
    yield f"{rule!r} first state", attempt(lambda: rule.State())


def _counts(fields: tuple[str, ...]) -> tuple[str, ...]:
    """Return the fields that count or tell modes apart."""
    return tuple(f for f in fields if any(part in f for part in ("phase", "mode", "state", "round", "count")))


def _size(field: str, rng: np.random.Generator) -> float:
    if "rtt" in field or "delay" in field or "time" in field or "since" in field:
        return float(0.01 * 10 ** rng.uniform(0, 1.5))
    return float(10 ** rng.uniform(0.0, 3.0))


def _event(rng: np.random.Generator) -> SimpleNamespace:
    delivered = float(rng.integers(50, 500))
    return SimpleNamespace(
        time=float(rng.uniform(0.05, 2.0)), rtt=float(0.01 * 10 ** rng.uniform(0, 1.5)),
        acks=float(rng.integers(1, 4)), marks=float(rng.integers(0, 2)), step=1e-4, sent=float(rng.integers(0, 9)),
        acked=float(rng.integers(1, 4)), lost=float(rng.integers(0, 3)), delivered=delivered,
        prior_delivered=delivered - float(rng.integers(1, 40)), interval=float(rng.uniform(0.005, 0.2)),
        in_flight=float(rng.integers(1, 90)), sent_in_flight=float(rng.integers(1, 90)),
        lost_since=float(rng.integers(0, 9)), lost_in_flight=float(rng.integers(1, 90)),
        lost_with=float(rng.integers(0, 9)), recovering=float(rng.integers(0, 2)), random=float(rng.random()),
    )  # fmt: skip


def laws(_: str) -> Answers:
    """Rates, inverses and checks of the laws; metrics."""
    import responsefn as r
    from benchmarks.fuzz.judging import numbers_of

    for law in (
        r.TFRC(),
        r.TFRC(form="zheng2002"),
        r.PFTK(),
        r.PFTK(form="approximate"),
        r.Mathis(),
    ):
        for p in (0.3, 0.05, 2e-3, 1e-6):
            for rtt in (0.01, 0.3):
                yield f"{law!r} {p:g} {rtt:g}", attempt(lambda l=law, p=p, t=rtt: l.rate(p, t))
        for rate in (5.0, 80.0, 4e3):
            yield f"{law!r} inverse at {rate:g}", attempt(lambda l=law, x=rate: r.invert(l, x, 0.1))
        yield f"{law!r} parameters", str(law.params) + str(law.domain)
        for name in law.params._fields:
            for value in (-1.0, 0.0, 1.0, 3.0):
                yield (
                    f"{law!r} {name}={value}",
                    attempt(lambda l=law, n=name, v=value: (l.replace(**{n: v}), 0)[1]),
                )
    yield from public_calls("responsefn")
    p, rng = np.geomspace(1e-5, 1e-2, 7), np.random.default_rng(2)
    amounts, lost = rng.random(60), np.sort(rng.choice(900, 40, replace=False))
    sent = np.cumsum(rng.random(40))
    rules_ = (r.Reno(), r.CUBIC(), r.HSTCP(), r.TFRC(), r.AIMD(b=0.2))
    calls: dict[str, Callable[[], Any]] = {
        "friendliness": lambda: [r.friendliness(rule, p, 0.1) for rule in rules_],
        "smoothness": lambda: [r.smoothness(amounts, 0.1, s) for s in (0.2, 0.5, 1.0)],
        "rtt unfairness": lambda: numbers_of([r.rtt_unfairness(rule, 1e-3, 0.1) for rule in rules_]),
        "weights": lambda: [r.LossHistory(n=n).weights for n in (8, 5, 16)],
        "loss events": lambda: r.loss_events(lost, sent, 1.7),
        "responsiveness": lambda: [r.responsiveness(rule) for rule in rules_],
        "aggressiveness": lambda: [r.aggressiveness(rule) for rule in rules_],
        "convergence": lambda: [numbers_of(r.convergence_time(rule, 0.1, 1000.0)) for rule in rules_[:3]],
        "match": lambda: [r.match(r.AIMD(b=0.25), rule, 1e-3).params.a for rule in rules_],
    }
    for name, call in calls.items():
        yield name, attempt(call)
    history = r.LossHistory()
    for event in (10.0, 30.0, 35.0, 80.0, 95.0, 300.0):
        yield f"history {event}", attempt(lambda: numbers_of(history))


def response_kernels(_: str) -> Answers:
    """Cycles of rules without closed form, simulations of one flow and of two."""
    import responsefn as r
    from benchmarks.fuzz.judging import numbers_of

    processes = (r.Deterministic(), r.Independent(), r.Gilbert())
    kinds = (
        r.Reno(),
        r.Tahoe(),
        r.CUBIC(fast_convergence=1),
        r.HTCP(),
        r.Illinois(),
        r.Vegas(),
        r.BIC(),
    )
    for rule in kinds:
        for bandwidth in (None, 800.0):
            for p in (0.1, 0.02, 1e-3):
                yield (
                    f"cycle {rule!r} {p:g} {bandwidth}",
                    attempt(lambda x=rule, p=p, b=bandwidth: numbers_of(x.cycle(p, 0.05, b))),
                )
            for process in processes:
                for p in (0.05, 2e-3):
                    yield (
                        f"run {rule!r} {process} {bandwidth} {p}",
                        attempt(
                            lambda x=rule, b=bandwidth, q=process, p=p: numbers_of(
                                r.simulate_rule(
                                    x,
                                    p,
                                    0.05,
                                    q,
                                    events=200,
                                    options=r.DirectSimulation(bandwidth=b),
                                )
                            )
                        ),
                    )


def main() -> None:
    """Print the answers of the group named on the command line."""
    from benchmarks.planted_faults import chain_probes, judge_probes, network_probes

    group, path = sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""
    warnings.simplefilter("ignore")
    with np.errstate(all="ignore"):
        homes = (chain_probes, network_probes, judge_probes)
        known = {**PROBES, **{k: v for home in homes for k, v in home.PROBES.items()}}
        found = dict(known[group](path))
    print(json.dumps(found))


PROBES: dict[str, Callable[[str], Answers]] = {
    "rules": rules,
    "laws": laws,
    "responsefn kernels": response_kernels,
}

if __name__ == "__main__":
    main()
