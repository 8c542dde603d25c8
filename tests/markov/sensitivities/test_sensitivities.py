"""Sensitivities and gradients of measures: against differences, closed forms and elimination."""

from __future__ import annotations

import math
import pickle
from fractions import Fraction
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from markov import MarkovChain, PauseTandem, differentiable, explore, read_prism, stationary
from markov.errors import NoDerivativeError

# Derivatives of measures: formulas and differences.


def loss_system(n: int, q: Any) -> Any:
    if n < 1:
        yield n + 1, q.arrivals
    if n > 0:
        yield n - 1, q.service


def test_a_derivative_is_that_of_the_formula() -> None:
    model = explore(
        loss_system,
        start=0,
        params={"arrivals": 7.0, "service": 10.0},
        rewards=lambda n, q: {"throughput": q.service * n},
    )
    found = stationary(model).sensitivity("arrivals", of="throughput")
    assert abs(found.derivative - (10.0 / 17.0) ** 2) <= found.error + 1e-15
    assert found.elasticity == pytest.approx(10.0 / 17.0)
    assert found.error < 1e-11
    by_service = stationary(model).sensitivity("service", of="throughput")  # of the reward too
    assert by_service.derivative == pytest.approx((7.0 / 17.0) ** 2, rel=1e-12)


@pytest.mark.parametrize("parameter", ["link_rate", "paused_rate", "bottleneck_rate", "rtt", "arrival_rates[0]"])
@pytest.mark.parametrize("of", ["throughput", "pause_fraction", "loss_probability"])
def test_derivatives_are_those_of_solutions_at_other_parameters(parameter: str, of: str) -> None:
    model = PauseTandem(buffers=(6, 8), high_threshold=5)
    found = stationary(model).sensitivity(parameter, of=of)
    found = found if isinstance(found, list) else [found]

    def at(factor: float) -> np.ndarray:
        if parameter.endswith("]"):
            rates = model.params.arrival_rates
            changed = model.replace(arrival_rates=(rates[0] * factor, *rates[1:]))
        else:
            changed = model.replace(**{parameter: getattr(model.params, parameter) * factor})
        return np.atleast_1d(stationary(changed)[of])

    value = getattr(model.params, parameter.partition("[")[0])
    value = value[0] if parameter.endswith("]") else value
    h = 1e-4
    differences = (at(1 + h) - at(1 - h)) / (2 * h * value)
    for each, difference in zip(found, differences, strict=True):
        size = abs(each.value / value)
        # second order of the difference, and the rounding of solutions over h
        assert each.derivative == pytest.approx(difference, rel=1e-6, abs=1e-9 * size)
        assert each.error <= 1e-8 * size


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """A file of a machine that fails and is repaired."""
    path = tmp_path / "machine.sm"
    path.write_text(
        "ctmc\nconst double fails = 0.25;\nmodule m\n up : bool init true;\n"
        "[] up -> fails : (up' = false);\n[] !up -> 1 : (up' = true);\nendmodule\n"
        'label "works" = up;\n'
    )
    return path


def test_constants_of_a_file_are_parameters(machine: Path) -> None:
    found = stationary(read_prism(machine)).sensitivity("fails", of="works")
    assert abs(found.derivative + 1 / 1.25**2) <= found.error + 1e-15


def test_a_matrix_has_no_parameters_and_one_state_does_not_vary() -> None:
    answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
    with pytest.raises(ValueError, match="no parameters"):
        answer.sensitivity("rate", of="x")
    alone = stationary(MarkovChain([[0.0, 0.0], [1.0, -1.0]]))
    assert alone.variance([2.0, 3.0]).value == 0.0


def mmck(s: Any, q: Any) -> Any:
    if s.n < 30:
        yield s._replace(n=s.n + 1), q.lam
    if s.n > 0:
        yield s._replace(n=s.n - 1), q.mu * min(s.n, q.c)


def many_servers(c: Any) -> Any:
    """Return the mean of M/M/c/30, which also has a formula for c that is no whole number."""
    params = {"lam": 2.7, "mu": 1.0, "c": c}
    return stationary(explore(mmck, start={"n": 0}, params=params, rewards=lambda s: {"L": s.n}))


def formula(c: Any, *, above: bool) -> Fraction:
    """Return d L / d c of M/M/c/30 from above or below: of products of lam / min(n, c)."""
    lam, c = Fraction(2.7), Fraction(c)
    weights, slopes = [Fraction(1)], [Fraction(0)]
    for n in range(1, 31):
        rate = min(Fraction(n), c)
        slope = Fraction(int(n > c or (n == c and not above)))
        weights.append(weights[-1] * lam / rate)
        slopes.append(slopes[-1] * lam / rate - weights[-1] * slope / rate)
    total, change = sum(weights), sum(slopes)
    mean = sum((n * w for n, w in enumerate(weights)), Fraction(0)) / total
    return sum((n * w for n, w in enumerate(slopes)), Fraction(0)) / total - mean * change / total


def test_at_a_kink_both_derivatives_are_stated() -> None:
    below, above = (formula(3, above=side) for side in (False, True))
    answer = many_servers(3.0)
    with pytest.raises(NoDerivativeError) as caught:
        answer.sensitivity("c", of="L")
    said = 'no derivative at c = 3: -15.91 from below, -15.44 from above; write side="left" or side="right"'
    assert str(caught.value) == said
    for side, exact in (("left", below), ("right", above)):
        found = answer.sensitivity("c", of="L", side=side)
        assert abs(Fraction(found.derivative) - exact) <= Fraction(found.error) < 1e-7
        assert (found.side, found.kind) == (side, "derivative")
        assert getattr(caught.value, side) == found


@pytest.mark.parametrize("distance", [1e-12, 1e-9, 1e-6, 1e-3, 1e-2])
@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_a_kink_close_by_is_not_straddled(distance: float, sign: float) -> None:
    c = 3.0 + sign * distance
    try:
        found: Any = many_servers(c).sensitivity("c", of="L")
    except NoDerivativeError:
        assert distance < 1e-11  # rounding of rates over the distance to the kink
        return
    assert abs(Fraction(found.derivative) - formula(c, above=True)) <= Fraction(found.error)


HIDDEN = {
    "tracer": lambda a: max(a, 2.0),
    "plain": lambda a: max(float(a), 2.0),
    "table": lambda a: (2.0, 2.0, 2.0 + (a - 2.0), 3.0)[int(a)],
    "by its type": lambda a: 2.0 + (a - 2.0) * (float(a) > 2.0) if isinstance(a, float) else a,
}


@pytest.mark.parametrize("name", HIDDEN)
def test_kinks_that_the_tracer_does_not_see_are_found(name: str) -> None:
    """Birth rate max(a, 2) in a queue of two places: zero from below, that of the formula from above."""

    def rules(n: int, q: Any) -> Any:
        if n < 1:
            yield n + 1, HIDDEN[name](q.a)
        if n > 0:
            yield n - 1, 2.0

    answer = stationary(explore(rules, start=0, params={"a": 2.0}, rewards=lambda n: {"n": n}))
    with pytest.raises(NoDerivativeError) as caught:
        answer.sensitivity("a", of="n")
    assert abs(caught.value.left.derivative) <= caught.value.left.error < 1e-9
    assert abs(caught.value.right.derivative - 2 / 16) <= caught.value.right.error < 1e-9


def test_a_step_is_refused_with_both_values() -> None:
    def rules(n: int, q: Any) -> Any:
        if n < 1:
            yield n + 1, (1.0 if q.a > 2 else 3.0) * q.a
        if n > 0:
            yield n - 1, 2.0

    answer = stationary(explore(rules, start=0, params={"a": 2.0}, rewards=lambda n: {"n": n}))
    with pytest.raises(NoDerivativeError, match=r"from below, n jumps from 0\.75 to 0\.5 above it"):
        answer.sensitivity("a", of="n")  # 6 / 8 and 2 / 4
    below: Any = answer.sensitivity("a", of="n", side="left")
    assert abs(below.derivative - 6 / 64) <= below.error  # of 3 a / (3 a + 2)
    with pytest.raises(NoDerivativeError, match="jumps"):
        answer.sensitivity("a", of="n", side="right")


def test_kinks_that_cancel_leave_a_derivative() -> None:
    """Both rates have a kink, and their ratio has none."""

    def rules(up: bool, q: Any) -> Any:
        yield not up, max(q.a, 2.0) * (1.0 if up else 3.0)

    model = explore(rules, start=True, params={"a": 2.0}, labels=lambda up: {"up": up})
    found: Any = stationary(model).sensitivity("a", of="up")
    assert abs(found.derivative) <= found.error < 1e-9
    assert found.side is None


def test_whole_numbers_have_differences() -> None:
    """Erlang's loss formula, for one server less and more."""

    def erlang(n: int, q: Any) -> Any:
        if n < q.servers:
            yield n + 1, 2.0
        if n > 0:
            yield n - 1, float(n)

    def blocked(c: int) -> Fraction:
        weights = [Fraction(2) ** k / math.factorial(k) for k in range(c + 1)]
        return weights[-1] / sum(weights, Fraction(0))

    model = explore(erlang, start=0, params={"servers": 3}, labels=lambda n, q: {"full": n == q.servers})
    answer = stationary(model)
    more: Any = answer.sensitivity("servers", of="full")
    assert "kind='difference', side='right'" in repr(more)
    assert abs(float(Fraction(more.derivative) - (blocked(4) - blocked(3)))) <= more.error < 1e-14
    less: Any = answer.sensitivity("servers", of="full", side="left")
    assert abs(float(Fraction(less.derivative) - (blocked(3) - blocked(2)))) <= less.error < 1e-14
    assert less.elasticity == pytest.approx(3 * less.derivative / float(blocked(3)))
    with pytest.raises(ValueError, match="the states change"):
        stationary(model.chain.model.replace(servers=3.0)).sensitivity("servers", of="full")


def test_a_float_that_is_given_as_a_whole_number_has_a_derivative() -> None:
    found: Any = stationary(PauseTandem(buffers=(3, 4), high_threshold=2, rtt=1)).sensitivity("rtt", of="throughput")
    assert found.kind == "derivative"


def test_a_side_is_left_or_right() -> None:
    with pytest.raises(ValueError, match="side = 'below': must be one of"):
        many_servers(2.5).sensitivity("c", of="L", side="below")  # type: ignore[arg-type]


def test_the_error_comes_back_from_another_process() -> None:
    error = NoDerivativeError("no derivative", 1.0, 2.0)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.left, again.right) == ("no derivative", 1.0, 2.0)


# `jax.grad` through a stationary distribution.


MODEL = PauseTandem(buffers=(4, 5), high_threshold=3)


def test_a_gradient_is_that_of_differences() -> None:
    throughput = differentiable(MODEL, of="throughput")
    at = {"rtt": np.array(1.5), "arrival_rates": np.array(MODEL.params.arrival_rates)}
    slopes = jax.jit(jax.grad(throughput))(at)
    for name, value in at.items():
        for unit in np.eye(value.size):
            step = 1e-5 * unit.reshape(value.shape)
            ends = [throughput(at | {name: value + sign * step}) for sign in (1.0, -1.0)]
            difference = float(ends[0] - ends[1]) / 2e-5
            # of second order, and rounding over the step
            assert float((slopes[name] * step).sum() / 1e-5) == pytest.approx(difference, abs=1e-7)


def test_it_maps_over_parameters_and_composes_with_functions() -> None:
    throughput = differentiable(MODEL, of="throughput")

    def cost(rtt: Any) -> Any:
        return jax.numpy.log(throughput({"rtt": 2.0 * rtt}))

    values, slopes = jax.vmap(jax.value_and_grad(cost))(jax.numpy.array([0.5, 1.0]))
    expected = [stationary(MODEL.replace(rtt=rtt)) for rtt in (1.0, 2.0)]
    np.testing.assert_allclose(np.exp(values), [e["throughput"] for e in expected], rtol=1e-12)
    found: Any = [e.sensitivity("rtt", of="throughput") for e in expected]
    by_hand = [2.0 * each.derivative / each.value for each in found]
    np.testing.assert_allclose(slopes, by_hand, rtol=1e-8)


def test_a_measure_of_each_queue_has_a_jacobian() -> None:
    waiting = differentiable(MODEL, of="mean_queue")
    slopes = jax.jacrev(waiting)({"bottleneck_rate": 15.0})["bottleneck_rate"]
    expected: Any = stationary(MODEL).sensitivity("bottleneck_rate", of="mean_queue")
    np.testing.assert_allclose(slopes, [each.derivative for each in expected], rtol=1e-8)


def test_a_function_of_the_state_has_gradients_too() -> None:
    def rules(up: bool, q: Any) -> Any:
        yield not up, q.fails if up else q.repair

    found = explore(rules, start=True, params={"fails": 0.25, "repair": 1.0}, labels=lambda up: {"up": up})
    slope = jax.grad(differentiable(found, of="up"))({"repair": 1.0})
    assert float(slope["repair"]) == pytest.approx(0.16, rel=1e-10)  # 0.25 / 1.25^2


def test_constants_of_a_file_are_parameters_and_a_matrix_has_none(machine: Path) -> None:
    slope = jax.grad(differentiable(read_prism(machine), of="works"))({"fails": 0.25})
    assert float(slope["fails"]) == pytest.approx(-1 / 1.25**2, rel=1e-8)
    with pytest.raises(ValueError, match="has no parameters"):
        differentiable([[-1.0, 1.0], [1.0, -1.0]], of="works")


def test_at_a_kink_a_side_is_asked_for() -> None:
    """A rate max(a, 2) between two states: the share a / (a + 1) has the derivative 1 / 9 from above."""

    def rules(up: bool, q: Any) -> Any:
        yield not up, 1.0 if up else max(q.a, 2.0)

    model = explore(rules, start=True, params={"a": 2.0}, labels=lambda up: {"up": up})
    with pytest.raises(NoDerivativeError, match=r"0 from below, 0\.1111 from above"):
        jax.grad(differentiable(model, of="up"))({"a": 2.0})
    for side, exact in (("left", 0.0), ("right", 1 / 9)):
        slope = jax.grad(differentiable(model, of="up", side=side))({"a": 2.0})["a"]  # type: ignore[arg-type]
        assert float(slope) == pytest.approx(exact, abs=1e-9)
