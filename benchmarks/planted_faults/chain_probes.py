"""Reference answers of chains; see `benchmarks.planted_faults.probes`."""

from __future__ import annotations

import json
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
    modules = ("infinite_passages", "passage_moments", "passage_results", "passages", "perron", "transients")
    for module in modules:
        yield from public_calls(f"markov.time.{module}")
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


QUEUES = """ctmc
const int N = 3;
const double a = 0.7;
formula full = x = N;
module first
  x : [0..N] init 0;
  [in] !full -> a : (x'=x+1);
  [move] x > 0 -> min(2, x) : (x'=x-1);
endmodule
module second
  y : [0..N] init 0;
  up : bool init true;
  [move] y < N & up -> 1 : (y'=y+1);
  [] y > 0 & up -> (mod(y, 2) = 0 ? 1.5 : 1.1) : (y'=y-1);
  [] up -> 0.05 : (up'=false);
  [] !up -> 0.4 : (up'=true);
endmodule
label "empty" = x + y = 0;
rewards "jobs" true : x + y; x > 1 : pow(x, 2); [in] true : 1; endrewards
"""
"""A model whose answers depend on every construct that it has."""
PROPERTIES = (
    'S=?["empty"]', 'P=?[F<=2.5 x=N]', 'P=?[true U[1,3] y=N]', 'P=?[!up U "empty"]', 'R{"jobs"}=?[S]',
    'R{"jobs"}=?[C<=4]', 'R{"jobs"}=?[F y=2]', 'P>=0.5[X x>0]', 'P=?[G<=1 up]', 'filter(max, P=?[F<=1 y=1], x=0)',
)  # fmt: skip
SPECIES = """<?xml version="1.0"?>
<sbml xmlns="http://www.sbml.org/sbml/level3/version1/core" level="3" version="1"><model substanceUnits="item">
<listOfCompartments><compartment id="c" size="1" constant="true"/></listOfCompartments>
<listOfSpecies><species id="A" compartment="c" initialAmount="4" hasOnlySubstanceUnits="true" boundaryCondition="false" constant="false"/>
<species id="B" compartment="c" initialAmount="0" hasOnlySubstanceUnits="true" boundaryCondition="false" constant="false"/></listOfSpecies>
<listOfParameters><parameter id="k" value="0.3" constant="true"/></listOfParameters>
<listOfReactions><reaction id="r" reversible="false"><listOfReactants><speciesReference species="A" stoichiometry="1" constant="true"/>
</listOfReactants><listOfProducts><speciesReference species="B" stoichiometry="1" constant="true"/></listOfProducts><kineticLaw>
<math xmlns="http://www.w3.org/1998/Math/MathML"><apply><times/><ci>k</ci><ci>A</ci></apply></math></kineticLaw></reaction>
<reaction id="s" reversible="false"><listOfReactants><speciesReference species="B" stoichiometry="1" constant="true"/></listOfReactants>
<listOfProducts><speciesReference species="A" stoichiometry="1" constant="true"/></listOfProducts><kineticLaw>
<math xmlns="http://www.w3.org/1998/Math/MathML"><ci>B</ci></math></kineticLaw></reaction></listOfReactions></model></sbml>
"""


def rules(_: str) -> Answers:
    """States and generators of models by rules in plain Python and on arrays; operators; labels, rewards, searches."""
    import markov as m
    from benchmarks.chain_questions import Retrials, Server, Stages, queue_rules

    models = [
        *chains(),
        *((repr(model), model) for model in (m.Kanban(1), m.Polling(4), m.Cluster(3), m.CoxTandem(5), m.PauseChain(hops=1))),
        ("server", Server()), ("stages", Stages(capacity=5)), ("retrials", Retrials(orbit=9)),
    ]  # fmt: skip
    for name, model in models:
        yield f"generator {name}", attempt(lambda x=model: m.generator(x).toarray())
        yield f"answer {name}", attempt(lambda x=model: _numbers_of_answer(m.stationary(x)))
        yield f"operator {name}", attempt(
            lambda x=model: m.GeneratorOperator(x) @ np.linspace(0.0, 1.0, x.space_size)
        )  # fmt: skip
    for capacity in (9, 59):  # plain Python, and arrays
        yield f"explored {capacity}", attempt(
            lambda c=capacity: m.stationary(m.explore(queue_rules, start=(0, 0), params={"capacity": c}).chain).pi[:50]
        )  # fmt: skip
        yield f"large {capacity}", attempt(lambda c=capacity: m.stationary(Server(capacity=100 * c)).pi[:50])
    for target in ("markov.generators", "markov.models", "markov.computing", "markov.exploration", "markov.chains"):
        yield from public_calls(target)


def _numbers_of_answer(answer: Any) -> list[float]:
    columns = [np.ravel(np.asarray(column, dtype=float)) for column in answer.states]
    values = [np.ravel(answer[name]) for name in answer.measures]
    return [float(f"{x:.9g}") for part in (answer.pi, *columns, *values) for x in part]


def files(_: str) -> Answers:
    """Chains, properties, exact answers and written files of models in PRISM's language, SBML and explicit formats."""
    import tempfile
    from pathlib import Path

    import markov as m
    from benchmarks.chain_questions import jani_of_machines

    with tempfile.TemporaryDirectory() as folder:
        prism, sbml, jani = (Path(folder) / name for name in ("queues.sm", "species.sbml", "machines.jani"))
        prism.write_text(QUEUES, encoding="utf-8")
        sbml.write_text(SPECIES, encoding="utf-8")
        jani.write_text(json.dumps(jani_of_machines(2, 3)), encoding="utf-8")
        for read, path in ((m.read_prism, prism), (m.read_sbml, sbml), (m.read_jani, jani)):
            yield f"pi of {path.name}", attempt(lambda r=read, p=path: m.stationary(r(p)).pi)
            yield f"generator of {path.name}", attempt(lambda r=read, p=path: r(p).chain.Q.toarray())
        for constants in ({}, {"a": 1.3}, {"N": 5}):
            yield f"states {constants}", attempt(lambda c=constants: m.read_prism(prism, constants=c).chain.size)
            for text in PROPERTIES:
                yield f"{text} {constants}", attempt(
                    lambda t=text, c=constants: m.read_prism(prism, constants=c).property(t).value
                )  # fmt: skip
        yield from _written(m, prism, Path(folder))
    yield from public_calls("markov.files")


def _written(m: Any, prism: Any, folder: Any) -> Answers:
    for suffix in ("tra", "umb", "mtx"):
        path = folder / f"written.{suffix}"
        yield f"written {suffix}", attempt(lambda p=path: (m.write_explicit(m.read_prism(prism), p), 0)[1])
        yield f"read {suffix}", attempt(lambda p=path: m.stationary(m.read_explicit(p)).pi)


def analysis(_: str) -> Answers:
    """Sensitivities, lumping, optima, relaxation, phases, infinite chains, estimates."""
    import markov as m

    tandem = m.PauseTandem(buffers=(6, 12), high_threshold=9, low_threshold=6)
    answer = m.stationary(tandem)
    yield (
        "sensitivity",
        attempt(lambda: [answer.sensitivity(n, of="throughput").derivative for n in ("rtt", "link_rate")]),
    )
    yield "lumped", attempt(lambda: m.stationary(m.lump(m.Polling(4))).pi)
    yield "mixing time", attempt(lambda: m.mixing_time(m.MM1K(capacity=9), start=(0,)))
    yield "autocovariance", attempt(lambda: m.autocovariance(answer, lambda s: s.i, [0.0, 1.0, 5.0]).to_array())
    services = m.PhaseType([0.4, 0.6], [[-1.0, 0.3], [0.0, -2.0]])
    for load in (0.5, 0.9):
        queue = m.PhaseQueue(m.MAP.poisson(load), services, capacity=7)
        yield f"phase queue {load}", attempt(lambda q=queue: m.stationary(q).pi)
        endless = m.explore(lambda n, load=load: [(n + 1, load)] + ([(n - 1, 1.0)] if n else []), start=0)
        yield f"infinite {load}", attempt(lambda e=endless: m.stationary(e).pi[:20])
    sample = np.random.default_rng(1).exponential(1.0, 200) + np.random.default_rng(2).exponential(0.3, 200)
    yield "fitted", attempt(lambda: [moment.fit for moment in m.fit_phase_type(sample).moments])
    for package in ("analysis", "phases", "infinite", "inference", "results", "sweeps", "driver"):
        yield from public_calls(f"markov.{package}")


PROBES: dict[str, Callable[[str], Answers]] = {
    "proofs": proofs,
    "methods": methods,
    "chains by rules": rules,
    "model files": files,
    "analysis": analysis,
}
