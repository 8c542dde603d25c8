"""Reference answers of chains; see `benchmarks.planted_faults.probes`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.planted_faults.probes import Answers, attempt, public_calls


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
                attempt(lambda x=model, w=method: np.round(m.stationary(x, w, proof=False, on_failure="return").pi, 9)),
            )
            yield (
                f"converged {name} {method!r}",
                attempt(lambda x=model, w=method: m.stationary(x, w, on_failure="return").status == "ok"),
            )
        times = [0.0, 0.3, 4.0, 300.0]
        first = _state(m.stationary(model, m.GTH()).states, 0)
        yield (
            f"transient {name}",
            attempt(lambda x=model, s=first: np.round(m.transient(x, times, start=s).pi, 9)),  # noqa: B023
        )
        yield f"passage {name}", attempt(lambda x=model: _passage(m, x))
    yield from public_calls("markov.time.passages")
    yield from public_calls("markov.time.transients")
    kanban = m.PauseTandem(buffers=(30, 60), high_threshold=40)
    for method in kinds:
        yield (
            f"larger {method!r}",
            attempt(lambda w=method: np.round(m.stationary(kanban, w, proof=False, on_failure="return").pi, 10)),
        )


def _passage(m: Any, model: Any) -> list[float]:
    states = m.stationary(model, m.GTH()).states
    found = m.passage(model, to=[_state(states, -1)], start=_state(states, 0))
    return [float(f"{found.mean:.9g}"), float(f"{found.variance:.9g}")]


def _state(states: Any, n: int) -> tuple[int, ...]:
    return tuple(int(component[n]) for component in states)


PROBES: dict[str, Callable[[str], Answers]] = {"proofs": proofs, "methods": methods}
