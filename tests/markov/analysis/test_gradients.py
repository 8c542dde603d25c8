"""`jax.grad` through a stationary distribution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest

from markov import PauseTandem, differentiable, explore, read_prism, stationary
from markov.errors import NoDerivativeError

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


def test_bad_input_is_named() -> None:
    throughput = differentiable(MODEL, of="throughput")
    with pytest.raises(ValueError, match="parameter = 'speed': must be one of buffers"):
        throughput({"speed": 1.0})
    with pytest.raises(ValueError, match=r"arrival_rates: an array of shape \(2,\) is expected"):
        throughput({"arrival_rates": np.ones(3)})
    with pytest.raises(ValueError, match="rtt = 0"):
        throughput({"rtt": 0.0})
    with pytest.raises(ValueError, match="speed"):
        differentiable(MODEL, of="speed")
    with pytest.raises(ValueError, match="tolerance = 2"):
        differentiable(MODEL, of="throughput", tolerance=2.0)


def test_a_function_of_the_state_has_gradients_too() -> None:
    def rules(up: bool, q: Any) -> Any:
        yield not up, q.fails if up else q.repair

    found = explore(
        rules, start=True, params={"fails": 0.25, "repair": 1.0}, labels=lambda up: {"up": up}
    )
    slope = jax.grad(differentiable(found, of="up"))({"repair": 1.0})
    assert float(slope["repair"]) == pytest.approx(0.16, rel=1e-10)  # 0.25 / 1.25^2


def test_constants_of_a_file_are_parameters_and_a_matrix_has_none(tmp_path: Path) -> None:
    path = tmp_path / "machine.sm"
    path.write_text(
        "ctmc\nconst double fails = 0.25;\nmodule m\n up : bool init true;\n"
        "[] up -> fails : (up' = false);\n[] !up -> 1 : (up' = true);\nendmodule\n"
        'label "works" = up;\n'
    )
    slope = jax.grad(differentiable(read_prism(path), of="works"))({"fails": 0.25})
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
