"""Estimated rates: from observations, by likelihoods."""

from __future__ import annotations

import math
import pickle
from typing import Any

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp

from hopflow import ms
from hopflow.results import Status
from markov import ObservedPath, Panel, estimate, explore, passage, paths, read_prism, stationary
from markov.errors import ConvergenceError
from markov.inference import estimates
from markov.inference.estimates import ChangedError, RateRows
from markov.inference.likelihoods import ImpossibleError, log_likelihood, relevant_states
from markov.inference.observations import Statistics
from markov.sensitivities.perturbations import Perturbation
from tests.markov.time.exact_exponentials import exact

# Estimates against closed forms, published ones, exact likelihoods, and simulations.


RELAPSES = [6, 6, 6, 7, 10, 13, 16, 22, 23]
CENSORED = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35]
PLACEBO = [1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23]
"""Weeks in remission of 42 children, half of them with 6-mercaptopurine: E. J. Freireich et al., Blood 21, 1963."""

TIMES = [0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]
SUSCEPTIBLE = [254, 235, 201, 153, 121, 110, 97, 83]
INFECTIVE = [7, 14, 22, 29, 20, 8, 8, 0]
"""The plague at Eyam, months from 18 June 1666: G. F. Raggett, Journal of Applied Statistics 9, 1982, as L. S. T. Ho et
al. use it, Journal of Mathematical Biology 76, 2018."""


def relapse(s, q):
    if s.remission:
        yield s._replace(remission=False), q.rate * (q.ratio if s.treated else 1.0)


def sir(s, q):
    if s.S > 0 and s.I > 0:
        yield s._replace(S=s.S - 1, I=s.I + 1), q.beta * s.S * s.I
    if s.I > 0:
        yield s._replace(I=s.I - 1), q.alpha * s.I


def queue(n, q):
    if n < 6:
        yield n + 1, q.arrival
    if n > 0:
        yield n - 1, q.service * min(n, 2)


def many_servers(arrival=1.0, service=1.0):
    return explore(
        queue,
        start=0,
        params={"arrival": arrival, "service": service},
        rewards=lambda n: {"length": n},
    )


def trial():
    """Both groups of the trial; one state more, from which a child may be in either."""

    def rules(s, q):
        if s.treated is None:
            yield s._replace(treated=True), 1.0
            yield s._replace(treated=False), 1.0
        else:
            yield from relapse(s, q)

    start = {"remission": True, "treated": None}
    return explore(rules, start=start, params={"rate": 0.05, "ratio": 0.9})


def weeks(time, treated, relapsed=True):
    states = [{"remission": True, "treated": treated}]
    if relapsed:
        return ObservedPath([0.0, time], [*states, {"remission": False, "treated": treated}], end=time)
    return ObservedPath([0.0], states, end=time)


def test_relapses_with_and_without_treatment_have_the_rates_of_the_trial():
    """Relapses over weeks in remission: 21 / 182 and 9 / 359; log-rates have variances 1 / relapses."""
    data = [weeks(t, False) for t in PLACEBO] + [weeks(t, True) for t in RELAPSES]
    data += [weeks(t, True, relapsed=False) for t in CENSORED]
    found = estimate(trial(), data, ["rate", "ratio"])
    ratio = (9 / 359) / (21 / 182)
    assert found.values["rate"] == pytest.approx(21 / 182, rel=1e-8)
    assert found.values["ratio"] == pytest.approx(ratio, rel=1e-8)
    assert found.standard_errors["rate"] == pytest.approx(math.sqrt(21) / 182, rel=1e-5)
    assert found.standard_errors["ratio"] == pytest.approx(ratio * math.sqrt(1 / 9 + 1 / 21), rel=1e-5)
    truth = 21 * math.log(21 / 182) + 9 * math.log(9 / 359) - 30
    assert abs(found.log_likelihood - truth) <= found.log_likelihood_error + 1e-9
    assert found.observations == 30


def until(last):
    """Return the rules of the epidemic, which stops once fewer are susceptible."""

    def rules(s, q):
        if last <= s.S:
            yield from sir(s, q)

    return rules


@pytest.mark.parametrize(
    ("rules", "alpha", "beta"),
    [
        pytest.param(sir, 3.0, 0.02, marks=pytest.mark.slow, id="all states"),
        pytest.param(until(SUSCEPTIBLE[-1]), 3.2, 0.0195, id="states that could be seen"),
    ],
)
@pytest.mark.slow
def test_the_plague_at_eyam_has_the_published_rates(rules, alpha, beta):
    """3.204 removals and 0.019 infections per month in the readme of MultiBD 0.2; 34,425 states.

    No path comes back from fewer susceptibles than were seen last: without those states the likelihood is the same.
    """
    model = explore(rules, start={"S": 254, "I": 7}, params={"alpha": alpha, "beta": beta})
    states = [{"S": s, "I": i} for s, i in zip(SUSCEPTIBLE, INFECTIVE, strict=True)]
    found = estimate(model, Panel(TIMES, states), ["alpha", "beta"])
    assert round(found.values["alpha"], 3) == 3.204
    assert math.floor(1000 * found.values["beta"]) == 19
    assert found.log_likelihood_error < 1e-9
    assert 0.2 < found.standard_errors["alpha"] < 0.4
    assert found.standard_errors["beta"] == pytest.approx(0.0018, rel=0.05)


@pytest.mark.slow
def test_whole_paths_have_closed_forms_and_panels_of_them_agree_within_errors():
    truth = many_servers(1.3, 0.8)
    runs = paths(truth, duration=200.0, start=0, runs=4, seed=3)
    found = estimate(many_servers(), runs, ["arrival", "service"])
    stays, jumps, served = np.zeros(7), 0, 0
    for run in range(runs.runs):
        times, states = runs.path(run)
        np.add.at(stays, states, np.diff(np.append(times, 200.0)))
        jumps += int((np.diff(states) > 0).sum())
        served += int((np.diff(states) < 0).sum())
    busy = float(stays @ np.minimum(np.arange(7), 2))
    assert found.values["arrival"] == pytest.approx(jumps / stays[:6].sum(), rel=1e-8)
    assert found.values["service"] == pytest.approx(served / busy, rel=1e-8)
    assert found.standard_errors["service"] == pytest.approx(math.sqrt(served) / busy, rel=1e-5)
    seen = np.arange(0.0, 200.0, 0.5)
    panels = [Panel(seen, row.tolist()) for row in runs.at(seen)]
    rough = estimate(many_servers(), panels, ["arrival", "service"])
    for name, value in (("arrival", 1.3), ("service", 0.8)):
        assert abs(found.values[name] - value) <= 4.0 * found.standard_errors[name]
        assert abs(rough.values[name] - value) <= 4.0 * rough.standard_errors[name]
        assert rough.standard_errors[name] > found.standard_errors[name]


def test_a_measure_has_the_standard_error_of_its_sensitivities():
    runs = paths(many_servers(1.3, 0.8), duration=200.0, start=0, seed=3)
    found = estimate(many_servers(), runs, ["arrival", "service"])
    answer = stationary(found.model)
    slopes = np.array([answer.sensitivity(name, of="length").derivative for name in found.values])
    error = math.sqrt(slopes @ found.covariance @ slopes)
    assert found.standard_error("length") == pytest.approx(error, rel=1e-12)


@pytest.mark.slow
def test_whole_chains_and_few_rows_give_the_same(monkeypatch):
    runs = paths(many_servers(1.3, 0.8), duration=50.0, start=0, seed=4)
    panel = Panel(np.arange(20.0), runs.at(np.arange(20.0))[0].tolist())
    few = estimate(many_servers(), panel, ["arrival", "service"])
    monkeypatch.setattr(estimates, "MAX_STATES_IN_PYTHON", 0)
    whole = estimate(many_servers(), panel, ["arrival", "service"])
    assert whole.log_likelihood == pytest.approx(few.log_likelihood, rel=1e-12)
    for name in few.values:
        assert whole.values[name] == pytest.approx(few.values[name], rel=1e-7)


def test_a_file_has_parameters_too(tmp_path):
    path = tmp_path / "machine.sm"
    path.write_text(
        "ctmc\nconst double fail;\nmodule m\n up : bool init true;\n"
        " [] up -> fail : (up'=false);\n [] !up -> 2 : (up'=true);\nendmodule\n"
    )
    model = read_prism(path, constants={"fail": 1.0})
    seen = ObservedPath([0.0, 8.0, 9.0], [(True,), (False,), (True,)], end=20.0)
    found = estimate(model, seen, ["fail"])
    assert found.values["fail"] == pytest.approx(1 / 19, rel=1e-8)
    for fitted in (found.model, pickle.loads(pickle.dumps(found.model))):
        answer = stationary(fitted)
        assert answer.pi == pytest.approx([1 / 39, 38 / 39])
        assert answer.summary()["bound covers"] == "this chain; not fail: estimated from 2 observations"
        assert passage(fitted, to=(False,)).mean == pytest.approx(19.0)
    assert "bound covers" not in stationary(model).summary()


def test_transitions_that_appear_with_the_parameters_are_used():
    """The short way from 0 to 2 opens above a = 1, which the search begins below."""

    def rules(n, q):
        if n == 0:
            yield 1, 1.0
            if q.a > 1.0:
                yield 2, q.a - 1.0
        elif n < 3:
            yield n + 1, q.a

    model = explore(rules, start=0, params={"a": 0.9})
    found = estimate(model, Panel([0.0, 0.1], [0, 2]), ["a"], on_failure="return")
    assert found.values["a"] > 1.0
    Q = found.chain.Q.toarray()
    assert found.log_likelihood == pytest.approx(math.log(scipy.linalg.expm(0.1 * Q)[0, 2]), rel=1e-10)


def test_what_data_do_not_determine_is_reported():
    """Only the sum of two rates matters."""

    def rules(n, q):
        if n == 0:
            yield 1, q.a + q.b

    model = explore(rules, start=0, params={"a": 1.0, "b": 1.0})
    found = estimate(model, ObservedPath([0.0, 2.0], [0, 1], end=3.0), ["a", "b"], on_failure="return")
    assert not found.status.ok
    assert math.isnan(found.standard_errors["a"])
    assert found.values["a"] + found.values["b"] == pytest.approx(0.5, rel=1e-6)
    assert found.summary()["status"] == f"{found.status}: {found.advice}"
    assert found.advice.startswith("the search went with a from 1 to 0.25, b from 1 to 0.25: the likelihood may rise")


def test_a_rate_that_is_never_seen_to_act_vanishes_and_the_error_says_so():
    """A machine that was never seen to fail: the likelihood rises as the rate falls to 0."""
    machine = explore(lambda up, q: [(not up, q.fail if up else 1.0)], start=True, params={"fail": 0.1})
    with pytest.raises(
        ConvergenceError, match=r"fail from 0\.1 to \S+e-\d+: the likelihood may rise without limit as parameters"
    ):
        estimate(machine, Panel([0.0, 1.0, 2.0], [True] * 3), ["fail"])


def illness(s, q):
    if s == "healthy":
        yield "ill", q.onset
        yield "dead", q.sudden
    if s == "ill":
        yield "dead", q.death


def test_times_of_jumps_in_panels_are_named():
    """The model of https://github.com/chjackson/msm/issues/90, with rates 0.1, 0.1 and 0.6 and an end after 4."""
    model = explore(illness, start="healthy", params={"onset": 0.1, "sudden": 0.1, "death": 0.6})
    names = list(model.states)
    observed, panels = [], []
    for run in range(200):
        times, states = paths(model, duration=4.0, start="healthy", seed=run).path(0)
        visited = [names[k] for k in states]
        observed.append(ObservedPath(times, visited, end=4.0))
        cut = visited[-1] != "dead"
        panels.append(Panel([*times, 4.0] if cut else times, [*visited, visited[-1]] if cut else visited))
    found = estimate(model, observed, ["onset", "sudden", "death"])
    for name, rate in (("onset", 0.1), ("sudden", 0.1), ("death", 0.6)):
        assert abs(found.values[name] - rate) < 3.0 * found.standard_errors[name]
    said = r"data: all \d\d pairs of observations before the last of each Panel are one transition apart, after irreg"
    with pytest.warns(UserWarning, match=said):
        wrong = estimate(model, panels, ["onset", "sudden", "death"])
    assert wrong.values["onset"] > 1.5 * found.values["onset"]


def test_panels_at_times_of_observation_have_no_warning(recwarn):
    def rules(up, q):
        yield not up, q.fail if up else q.repair

    model = explore(rules, start=True, params={"fail": 1.0, "repair": 1.0})
    regular = Panel(0.1 * np.arange(15.0), [True, False] * 7 + [True])  # as fast as the clock, by chance
    Statistics.of(model.chain, regular)
    irregular = np.cumsum(np.random.default_rng(1).random(40))
    Statistics.of(model.chain, Panel(irregular, [True, False, True, True] * 10))
    assert not recwarn.list


def test_bad_input_is_named():
    model, seen = many_servers(), Panel([0.0, 1.0], [0, 1])
    with pytest.raises(ValueError, match=r"data: 3 after 0: never so"):
        estimate(model, ObservedPath([0.0, 1.0], [0, 3], end=2.0), ["arrival"])
    with pytest.raises(ValueError, match="data: 9 is no state"):
        estimate(model, Panel([0.0, 1.0], [0, 9]), ["arrival"])
    with pytest.raises(ValueError, match="must be one of arrival, service"):
        estimate(model, seen, ["speed"])
    with pytest.raises(ValueError, match="must be a list of names"):
        estimate(model, seen, "arrival")
    with pytest.raises(ValueError, match="a name twice"):
        estimate(model, seen, ["arrival", "arrival"])
    with pytest.raises(ValueError, match="other than zero"):
        estimate(many_servers(0.0), seen, ["arrival"])
    with pytest.raises(TypeError, match="data = 3"):
        estimate(model, 3, ["arrival"])
    with pytest.raises(ValueError, match="has no parameters"):
        estimate([[-1.0, 1.0], [1.0, -1.0]], seen, ["a"])
    with pytest.raises(ValueError, match=r"^times\[2\] = 0: must be later than the one before, 1; another subject is"):
        Panel([0.0, 1.0, 0.0], [0, 1, 0])
    with pytest.raises(ValueError, match=r"^times\[1\] = 1: must be later than the one before, 1;"):
        ObservedPath([1.0, 1.0], [0, 1], end=2.0)
    with pytest.raises(ValueError, match=r"^times = .*\[\].*: must be a list of times, at least one"):
        ObservedPath([], [], end=2.0)
    with pytest.raises(ValueError, match=r"jumps in 1e\+07 s"):
        estimate(model, Panel([0.0, 1e7], [0, 1]), ["arrival"])


# Log-likelihoods and their gradients against matrix exponentials and many digits.


def test_a_panel_has_the_likelihood_and_gradient_of_matrix_exponentials():
    chain = many_servers(1.3, 0.8).chain
    times = np.array([0.0, 0.4, 1.1, 1.5, 4.0])
    observed = Statistics.of(chain, Panel(times, [0, 1, 3, 3, 0]))
    up, down = np.zeros((2, 7, 7))
    for n in range(7):
        for matrix, target, by in ((up, n + 1, 1.0), (down, n - 1, float(min(n, 2)))):
            if 0 <= target < 7:
                matrix[n, target] = by
                matrix[n, n] = -by
    Q = 1.3 * up + 0.8 * down
    np.testing.assert_allclose(chain.Q.toarray(), Q, rtol=1e-15)
    found = log_likelihood(chain.Q, [sp.csr_matrix(up), sp.csr_matrix(down)], observed)
    value, gradient = 0.0, np.zeros(2)
    for gap, one, other in zip(np.diff(times), [0, 1, 3, 3], [1, 3, 3, 0], strict=True):
        for k, slope in enumerate((up, down)):
            P, change = scipy.linalg.expm_frechet(Q * gap, slope * gap)
            gradient[k] += change[one, other] / P[one, other]
        value += math.log(P[one, other])
    assert abs(found.value - value) <= found.error + 1e-12
    assert found.error < 1e-11
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-10)


def test_an_unlikely_transition_is_within_the_bound():
    """From one end to the other within a time for which that has a probability of 1e-25."""
    rates = np.diag(np.full(6, 0.3), 1) + np.diag(np.full(6, 2.0), -1)
    Q = sp.csr_matrix(rates - np.diag(rates.sum(axis=1)))
    chain = many_servers().chain
    observed = Statistics.of(chain, Panel([0.0, 0.001], [0, 6]))
    found = log_likelihood(Q, [], observed)
    truth = exact(rates, 0.001)[0][6]
    value = math.log(truth.numerator) - math.log(truth.denominator)
    assert value < -50.0
    assert abs(found.value - value) <= found.error < 1e-11


def test_only_states_between_observations_are_needed():
    """A chain that never turns back."""
    Q = sp.csr_matrix(np.diag(np.ones(6), 1) - np.diag([1.0] * 6 + [0.0]))
    chain = many_servers().chain
    observed = Statistics.of(chain, Panel([0.0, 1.0], [2, 4]))
    assert np.flatnonzero(relevant_states(Q, observed)).tolist() == [2, 3, 4]
    back = Statistics.of(chain, Panel([0.0, 1.0], [4, 2]))
    with pytest.raises(ImpossibleError):
        relevant_states(Q, back)
    assert log_likelihood(Q, [], back).value == -math.inf
    direct = Statistics.of(chain, ObservedPath([0.0, 1.0], [2, 4], end=2.0))
    with pytest.raises(ImpossibleError):
        relevant_states(Q, direct)
    assert log_likelihood(Q, [], direct).value == -math.inf


# What was observed: counted once, and checked.


def coin():
    return explore(lambda up, q: [(not up, q.a)], start=True, params={"a": 1.0})


def test_stays_jumps_and_gaps_are_counted_by_states():
    model = coin()
    up, down = model.chain.number_of(True), model.chain.number_of(False)
    data = [
        ObservedPath([1.0, 3.0, 4.0], [True, False, True], end=6.0),
        Panel([0.0, 2.0, 4.0], [True, True, False]),
        Panel([1.0, 3.0], [True, True]),
    ]
    found = Statistics.of(model.chain, data)
    assert found.stays[[up, down]].tolist() == [4.0, 1.0]
    assert found.jumps == {(up, down): 1, (down, up): 1}
    assert found.gaps == {(up, up): {2.0: 2}, (up, down): {2.0: 1}}
    assert found.total == 5


def test_paths_of_a_simulation_are_whole_paths():
    model = coin()
    runs = paths(model, duration=5.0, start=True, runs=3, seed=1)
    found = Statistics.of(model.chain, runs)
    assert found.stays.sum() == pytest.approx(15.0)
    assert sum(found.jumps.values()) == len(runs.times) - 3


def test_paths_of_a_chain_that_finds_its_states_in_another_order():
    def rules(s: str, q: Any) -> Any:
        yield ("down", q.failure) if s == "up" else ("up", q.repair)

    rates = {"failure": 0.1, "repair": 1.0}
    simulated, other = (explore(rules, start=start, params=rates) for start in ("up", "down"))
    runs = paths(simulated, duration=500.0, start="up", seed=1)
    expected, found = (Statistics.of(model.chain, runs) for model in (simulated, other))
    assert found.stays.tolist() == expected.stays[::-1].tolist()
    assert found.jumps == {(1 - x, 1 - y): count for (x, y), count in expected.jumps.items()}
    renamed = explore(lambda s: [(3 - s, 1.0)], start=1)
    with pytest.raises(ValueError, match="data: 'up' is no state of the chain"):
        Statistics.of(renamed.chain, runs)


def test_times_have_units():
    seen = ObservedPath([0.0, ms(3)], [True, False], end="5 ms")
    assert seen.times.tolist() == [0.0, 0.003]
    assert seen.end == 0.005
    assert repr(seen) == "ObservedPath: 1 jump in 0.005 s"
    assert repr(Panel(["0 s", "2 s"], [1, 2])) == "Panel: 2 observations in 2 s"


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match=r"must be later than the one before, 0"):
        ObservedPath([0.0, 0.0], [True, False], end=1.0)
    with pytest.raises(ValueError, match="end = 1"):
        ObservedPath([0.0, 2.0], [True, False], end=1.0)
    with pytest.raises(ValueError, match=r"states\[1\] = True: must differ .* leave out records without a jump"):
        ObservedPath([0.0, 1.0], [True, True], end=1.0)
    with pytest.raises(ValueError, match="1 state at 2 times"):
        Panel([0.0, 1.0], [True])
    with pytest.raises(ValueError, match="at least two"):
        Panel([0.0], [True])
    model = coin()
    with pytest.raises(TypeError, match=r"data\[1\] = 'x'"):
        Statistics.of(model.chain, [Panel([0.0, 1.0], [True, True]), "x"])
    wide = paths(np.array([[-1.0, 1, 0], [0, -1, 1], [1, 0, -1]]), 1.0, start=0, seed=1)
    with pytest.raises(ValueError, match="paths of 3 states, not 2"):
        Statistics.of(model.chain, wide)


# Likelihoods without a maximum, wide intervals, and many jumps between observations.


def machine(failure: float = 1.0, repair: float = 1.0) -> Any:
    """A machine that is up or down."""
    return explore(
        lambda up, q: [(not up, q.failure if up else q.repair)],
        start=True,
        params={"failure": failure, "repair": repair},
    )


def mortal(rate: float) -> Any:
    """A component that fails once."""
    return explore(lambda up, q: [(False, q.rate)] if up else [], start=True, params={"rate": rate})


@pytest.mark.parametrize(
    ("model", "data", "name"),
    [
        (mortal(1.0), Panel([0.0, 1.0], [True, False]), "rate"),
        (mortal(1.0), [Panel([0.0, 10.0], [True, False])] * 50, "rate"),
        (machine(), Panel([0.0, 1.0], [True, False]), "failure"),
    ],
    ids=["exponential tail", "fifty of it", "slow tail"],
)
def test_a_likelihood_that_rises_for_ever_has_no_maximum(model: Any, data: Any, name: str) -> None:
    """1 - exp(-rate t) rises up to one, as does failure / (failure + repair): no estimate, far out where it is flat."""
    found = estimate(model, data, [name], on_failure="return")
    assert found.status is Status.INACCURATE
    assert math.isnan(found.standard_errors[name])
    assert "the likelihood may rise without limit" in str(found)
    with pytest.raises(ConvergenceError, match="likelihood may rise without limit"):
        estimate(model, data, [name])


def test_an_interval_beyond_all_numbers_has_no_limits() -> None:
    """A coefficient near zero with a large standard error, as of a covariate without an effect."""
    drift = explore(lambda up, q: [(not up, math.exp(q.effect) if up else 1.0)], start=True, params={"effect": 0.1})
    path = ObservedPath([0.0, 1.0, 2.0], [True, False, True], end=2.0 + 1e-6)
    found = estimate(drift, path, ["effect"])
    assert abs(found.values["effect"]) < 1e-5 < found.standard_errors["effect"]
    assert found.intervals()["effect"] in ((0.0, math.inf), (-math.inf, 0.0))
    assert "effect" in str(found)


def test_a_search_that_ends_at_zero_says_how_to_pass_it() -> None:
    """The logarithm of a rate, log log 2, from the other side of zero, and as a sum with a constant."""
    data = [Panel([0.0, 1.0], [True, True]), Panel([0.0, 1.0], [True, False])]

    def with_log_rate(first: float, constant: float = 0.0) -> Any:
        return explore(
            lambda up, q: [(False, math.exp(q.log_rate - constant))] if up else [],
            start=True,
            params={"log_rate": first},
        )

    right = pytest.approx(math.log(math.log(2.0)), abs=1e-7)
    refusals = []
    for first in (0.1, 0.5, 0.7, 1.0, 2.0):  # which of them step over zero depends on the last digits
        try:
            assert estimate(with_log_rate(first), data, ["log_rate"]).values["log_rate"] == right
        except ConvergenceError as error:
            refusals.append(str(error))
    assert refusals
    assert all("does not take past zero, estimate a sum with a constant" in refusal for refusal in refusals)
    found = estimate(with_log_rate(10.5, 10.0), data, ["log_rate"])
    assert found.values["log_rate"] - 10.0 == right


@pytest.mark.parametrize("rate", [3e3, 8e5])
def test_many_jumps_between_observations(rate: float) -> None:
    """P(up after t) = (repair + failure exp(-(failure + repair) t)) / (failure + repair), and its derivatives."""
    chain = machine(failure=0.5 * rate, repair=rate).chain
    slow = 2.0 / rate
    observed = Statistics.of(chain, [Panel([0.0, 1.0], [True, True]), Panel([0.0, slow], [True, True])])
    slopes = [Perturbation(chain, np.arange(2), name, {}).generator()[0] for name in ("failure", "repair")]
    found = log_likelihood(chain.Q, slopes, observed)
    failure, repair, decay = 0.5 * rate, rate, math.exp(-1.5 * rate * slow)
    total = failure + repair
    later = (repair + failure * decay) / total
    assert abs(found.value - math.log(repair / total) - math.log(later)) <= found.error
    assert found.error < 1e-8
    by_failure = -1.0 / total + ((1.0 - failure * slow) * decay / total - later / total) / later
    by_repair = 1.0 / repair - 1.0 / total + ((1.0 - failure * slow * decay) / total - later / total) / later
    np.testing.assert_allclose(found.gradient, [by_failure, by_repair], rtol=1e-6)


# Rates out of some states, and their derivatives, by plain Python.


def model(rate):
    def rules(n, q):
        if n < 5:
            yield n + 1, rate(q.a, n)
        if n > 0:
            yield n - 1, 2.0

    return explore(rules, start=0, params={"a": 1.0}).chain


def slopes(rate):
    chain = model(rate)
    rows = RateRows(chain, np.array([True, False, True, False, False, False]))
    here = rows.rates(chain.model)
    change = rows.slopes(lambda shift: chain.model.replace(a=1.0 + shift), 1.0, here)
    return rows.matrix(change)


@pytest.mark.parametrize(
    ("rate", "slope"),
    [
        (lambda a, n: 3.0 * a + n, lambda n: 3.0),
        (lambda a, n: math.exp(a) + n, lambda n: math.e),
        (lambda a, n: 5.0 + (a - 1.0) ** 3, lambda n: 0.0),
        (lambda a, n: 1.0 + n, lambda n: 0.0),
    ],
    ids=["line", "exponential", "cubic", "constant"],
)
def test_derivatives_are_those_of_the_rates(rate, slope):
    dense = slopes(rate).toarray()
    for n in (0, 2):
        assert dense[n, n + 1] == pytest.approx(slope(n), rel=1e-9, abs=1e-9)
        assert dense[n].sum() == pytest.approx(0.0, abs=1e-12)
    assert not dense[[1, 3, 4, 5]].any()


def test_a_kink_has_none():
    with pytest.raises(ValueError, match="kink at 1"):
        slopes(lambda a, n: max(a, 1.0))


def test_other_transitions_are_noticed():
    chain = model(lambda a, n: a)
    rows = RateRows(chain, np.arange(6) < 3)
    with pytest.raises(ChangedError):
        rows.rates(chain.model.replace(a=0.0))
