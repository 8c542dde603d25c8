"""Reference answers of chains, networks and judges; see `benchmarks.planted_faults.probes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.planted_faults.probes import Answers, attempt, numbers

__all__ = ["PROBES"]


def chains() -> Iterator[tuple[str, Any]]:
    """Yield names and small chains: known ones, nearly decomposable ones, the pause tandem."""
    import markov as m

    yield "MM1K", m.MM1K(capacity=40)
    yield "Jackson", m.JacksonTandem()
    yield "Courtois", m.Courtois(coupling=1e-3)
    yield "birth-death", m.BirthDeath()
    yield "pause", m.PauseTandem(buffers=(6, 12), high_threshold=9, low_threshold=6)


def proofs(_: str) -> Answers:
    """Error bounds of good and of bad vectors, and whether they hold; means, passages, deviations."""
    import markov as m
    from markov.proofs.certificates import Certificate, error_bound, relative_residual

    rng = np.random.default_rng(3)
    for name, model in chains():
        best = m.stationary(model, m.GTH())
        exact, Q = np.asarray(best.pi), m.generator(model)
        for noise in (0.0, 1e-12, 1e-6, 1e-2):
            pi = exact * (1.0 + noise * rng.standard_normal(len(exact)))
            pi = np.abs(pi) / np.abs(pi).sum()
            proved = error_bound(Q, pi)
            distance = 0.5 * np.abs(pi - exact).sum()
            yield f"bound {name} {noise}", [proved]
            yield f"holds {name} {noise}", [float(proved + 1e-15 >= distance)]
            yield f"residual {name} {noise}", attempt(lambda Q=Q, pi=pi: relative_residual(Q, pi))
            certificate = Certificate(Q, pi, None)
            yield f"bound entries {name} {noise}", attempt(lambda c=certificate: c.entry_error)
        for method in (m.GTH(), m.SparseLU(), m.Multilevel(), m.MatrixFree()):
            yield from _proved(f"{name} {method!r}", model, method)
        yield (
            f"variance {name}",
            attempt(lambda b=best: b.variance(np.arange(len(b.pi)) % 5.0).value),
        )


def _proved(name: str, model: Any, method: Any) -> Answers:
    """Yield what a solution with a sharp bound says."""
    import markov as m

    try:
        found = m.stationary(model, method, proof="tight")
    except Exception as error:  # noqa: BLE001
        yield name, str(error)
        return
    yield f"pi {name}", [round(float(x), 9) for x in found.pi]
    yield f"bound of {name}", attempt(lambda: found.error_bound)
    for label in getattr(found.measures, "data_vars", ()):
        yield f"measure {label} {name}", [float(f"{np.mean(np.asarray(found[label])):.9g}")]
        yield f"bound of {label} {name}", attempt(lambda k=label: _errors(found.bound(k)))


def _errors(found: Any) -> list[float]:
    return [each.error for each in (found if isinstance(found, list) else [found])]


def methods(_: str) -> Answers:
    """Stationary vectors by every method, distributions over time, passages."""
    import markov as m

    kinds = [
        m.GTH(),
        m.Levels(),
        m.SparseLU(),
        m.Multilevel(),
        m.MatrixFree(),
        m.GaussSeidel(),
        m.Krylov(),
        m.Power(),
    ]
    for name, model in chains():
        for method in kinds:
            yield (
                f"{name} {method!r}",
                attempt(
                    lambda x=model, w=method: np.round(
                        m.stationary(x, w, proof=False, on_failure="return").pi, 9
                    )
                ),
            )
            yield (
                f"converged {name} {method!r}",
                attempt(
                    lambda x=model, w=method: m.stationary(x, w, on_failure="return").status == "ok"
                ),
            )
        times = [0.0, 0.3, 4.0, 300.0]
        first = _state(m.stationary(model, m.GTH()).states, 0)
        yield (
            f"transient {name}",
            attempt(lambda x=model, s=first: np.round(m.transient(x, times, start=s).pi, 9)),
        )
        yield f"passage {name}", attempt(lambda x=model: _passage(m, x))
    kanban = m.PauseTandem(buffers=(30, 60), high_threshold=40)
    for method in kinds:
        yield (
            f"larger {method!r}",
            attempt(
                lambda w=method: np.round(
                    m.stationary(kanban, w, proof=False, on_failure="return").pi, 10
                )
            ),
        )


def _passage(m: Any, model: Any) -> list[float]:
    states = m.stationary(model, m.GTH()).states
    found = m.passage(model, to=[_state(states, -1)], start=_state(states, 0))
    return [float(f"{found.mean:.9g}"), float(f"{found.variance:.9g}")]


def _state(states: Any, n: int) -> tuple[int, ...]:
    return tuple(int(component[n]) for component in states)


def fluid(_: str) -> Answers:
    """Fluid runs of small networks with every discipline, kind of sender and host."""
    from dfcmodel import Fluid, simulate
    from tests.dfcmodel.engine import test_reference as samples

    for name, sort, host in samples.EVERY:
        scenario = samples.crossing(samples.DISCIPLINES[name], samples.SOURCES[sort], host)
        yield (
            f"{name} {sort} {host}",
            attempt(lambda x=scenario: _records(simulate(x, duration=0.4, sample=0.05))),
        )
    for name, scenario in _random_networks():
        yield (
            name,
            attempt(
                lambda x=scenario: _records(
                    simulate(x, method=Fluid(steps_per_delay=10), duration=0.4, sample=0.05)
                )
            ),
        )


def packets(_: str) -> Answers:
    """Packet runs of random networks with every discipline and recovery."""
    from dfcmodel import Packets, simulate

    kinds = (Packets(), Packets(recovery="sack"), Packets(recovery="tahoe"))
    for name, scenario in _senders():
        for method in (
            Packets(seed=1),
            Packets(recovery="prr", ack_transmission=False, ack_delay=0.04),
        ):
            yield (
                f"{name} {method!r}",
                attempt(
                    lambda x=scenario, w=method: _records(
                        simulate(x, method=w, duration=1.5, sample=0.05, packet_jitter=1e-4)
                    )
                ),
            )
    for name, scenario in _random_networks():
        for method in kinds:
            yield (
                f"{name} {method!r}",
                attempt(
                    lambda x=scenario, w=method: _records(
                        simulate(x, method=w, duration=0.6, sample=0.05)
                    )
                ),
            )


def _senders() -> Iterator[tuple[str, Any]]:
    """Yield two flows over one bottleneck, with every kind of sender and receiver, and losses on the way."""
    import responsefn as r
    from dfcmodel import CBR, DualPI2, Flow, Link, OnOff, Scenario

    rules = (
        r.BBR(), r.BBRv1(), r.Copa(), r.LEDBAT(), r.Prague(), r.Swift(base_target=0.03), r.CUBIC(), r.NS2Vegas(),
        r.DCQCN(notification=4e-3, alpha_timer=5e-3, timer=6e-3, counter=20.0), r.TIMELY(t_low=0.02, t_high=0.05),
        r.hystart(r.Reno()), OnOff(900.0, 0.05, 0.04, random=True), CBR(700.0), r.DCTCP(),
    )  # fmt: skip
    for n, rule in enumerate(rules):
        for kind in (None, DualPI2()):
            more = {} if kind is None else {"discipline": kind}
            links = (
                Link("a", "b", 1000.0, 5e-3, 15.0, **more), Link("b", "c", 4000.0, 3e-3, 30.0),
                Link("c", "a", 800.0, 2e-3, 12.0),
            )  # fmt: skip
            window = isinstance(rule, r.WindowRule)
            extra = (
                {"delayed_acks": True, "pacing": n % 2 == 0, "size": 120.0, "idle": 0.1}
                if window
                else {}
            )
            if isinstance(rule, r.DeliveryRule):
                extra = {"delayed_acks": n % 2 == 0}
            flows = (
                Flow("one", ("a", "b", "c"), rule, 60.0, **extra),
                Flow("two", ("b", "c", "a"), r.NewReno(), 60.0, 0.03, delayed_acks=True),
                Flow("three", ("a", "b", "c"), rule, 60.0, 0.01),
            )
            yield f"{rule!r} {kind!r}", Scenario("senders", links, flows, duration=2.0)


def _random_networks() -> Iterator[tuple[str, Any]]:
    from tests.dfcmodel.packets import conftest as samples

    for n in (1, 2, 3, 4):
        for name in [*samples.DISCIPLINES, *samples.MANAGED]:
            yield f"{name} {n}", samples.random_scenario(name, n)
        yield f"classes {n}", samples.random_classes(n)
        yield f"switches {n}", samples.random_switches(n)
        yield f"diffusive {n}", samples.random_diffusive(n)


def _records(run: Any) -> list[float]:
    return [
        x
        for name in (
            "delivered",
            "lost",
            "queued",
            "carried",
            "peak_queue",
            "round_trip",
            "window",
            "mean_queue",
        )
        for x in numbers(np.nan_to_num(getattr(run, name)))
    ]


def managers(_: str) -> Answers:
    """Queue managers at random states as plain Python, and their checks."""
    import dataclasses

    import dfcmodel as d

    kinds = [
        d.RED(),
        d.RED(gentle=False, ecn=True),
        d.CoDel(),
        d.PIE(),
        d.StepMarking(4.0),
        d.RampMarking(2.0, 8.0, 0.5),
        d.PI2(),
        d.PI2(ecn=True),
        d.DualPI2(),
    ]
    rng = np.random.default_rng(4)
    for manager in kinds:
        yield f"{manager!r}", str(manager)
        if not hasattr(manager, "on_step"):
            continue
        q = type("Q", (), manager.numbers(1000.0))
        for n in range(60):
            s = manager.State(
                *(
                    float(10 ** rng.uniform(-3, 1.0)) * (rng.random() < 0.8)
                    for _ in manager.State._fields
                )
            )
            e = _arrivals(rng)
            yield f"{manager!r} {n}", attempt(lambda m=manager, s=s, e=e, q=q: m.on_step(s, q, e))
        for field in dataclasses.fields(manager):
            for value in (-1.0, 0.0, 0.5, 1.0, 2.0, 100.0):
                yield (
                    f"{manager!r} {field.name}={value}",
                    attempt(
                        lambda m=manager, k=field.name, v=value: (
                            dataclasses.replace(m, **{k: v}),
                            0,
                        )[1]
                    ),
                )


def _arrivals(rng: np.random.Generator) -> Any:
    from types import SimpleNamespace

    from dfcmodel.network.disciplines import Arrivals

    values = {name: float(10 ** rng.uniform(-3, 1.3)) for name in Arrivals._fields}
    values["random"] = float(rng.random())
    if rng.random() < 0.2:
        values["backlog"] = 0.0
    return SimpleNamespace(**values)


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
            "tests": lambda x=one, y=other: [v.rank_test(x, y), v.variance_test(2.0 + n, 4, 1.5, 9), v.quantile(3 + n, 0.9)],
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
    from validation.verdicts import Verdict

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


PROBES: dict[str, Callable[[str], Answers]] = {
    "proofs": proofs,
    "methods": methods,
    "fluid kernel": fluid,
    "packet kernel": packets,
    "queue managers": managers,
    "statistics": statistics,
    "judges": judges,
}
