"""Derivatives of measures: formulas and differences."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov import MarkovChain, PauseTandem, explore, read_prism, stationary


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


@pytest.mark.parametrize(
    "parameter", ["link_rate", "paused_rate", "bottleneck_rate", "rtt", "arrival_rates[0]"]
)
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


def test_constants_of_a_file_are_parameters(tmp_path: Path) -> None:
    path = tmp_path / "machine.sm"
    path.write_text(
        "ctmc\nconst double fails = 0.25;\nmodule m\n up : bool init true;\n"
        "[] up -> fails : (up' = false);\n[] !up -> 1 : (up' = true);\nendmodule\n"
        'label "works" = up;\n'
    )
    found = stationary(read_prism(path)).sensitivity("fails", of="works")
    assert abs(found.derivative + 1 / 1.25**2) <= found.error + 1e-15


@pytest.mark.parametrize(
    ("parameter", "of", "message"),
    [
        ("speed", "throughput", "parameter = 'speed': must be one of"),
        ("arrival_rates", "throughput", r"must be one of arrival_rates\[0\], arrival_rates\[1\]"),
        ("recovery", "throughput", "is 'always': must be a number"),
        ("rtt", "speed", "measure = 'speed'"),
    ],
)
def test_bad_input_is_named(parameter: str, of: str, message: str) -> None:
    answer = stationary(PauseTandem(buffers=(3, 4), high_threshold=2))
    with pytest.raises(ValueError, match=message):
        answer.sensitivity(parameter, of=of)


def test_a_whole_number_that_the_model_refuses_is_named() -> None:
    answer = stationary(PauseTandem(buffers=(3, 4), high_threshold=4))
    with pytest.raises(ValueError, match="refuses high_threshold = 5"):
        answer.sensitivity("high_threshold", of="throughput")


def test_a_matrix_has_no_parameters_and_one_state_does_not_vary() -> None:
    answer = stationary([[-1.0, 1.0], [3.0, -3.0]])
    with pytest.raises(ValueError, match="no parameters"):
        answer.sensitivity("rate", of="x")
    alone = stationary(MarkovChain([[0.0, 0.0], [1.0, -1.0]]))
    assert alone.variance([2.0, 3.0]).value == 0.0
