"""Methods of `simulate`: the fluid's parameters."""

from __future__ import annotations

import pytest

from dfcmodel import Fluid, simulate, takano2006


@pytest.mark.parametrize(
    ("arguments", "part"),
    [({"steps_per_delay": 0}, "steps_per_delay"), ({"pipe": "fall"}, "pipe")],
)
def test_a_wrong_parameter_is_named(arguments, part: str) -> None:
    with pytest.raises(ValueError, match=part):
        Fluid(**arguments)


def test_the_method_sets_the_step() -> None:
    run = simulate(takano2006("1"), method=Fluid(steps_per_delay=2), duration=0.01)
    assert run.step == pytest.approx(0.05e-3)
