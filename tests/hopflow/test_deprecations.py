"""Old names of parameters: the same answer, and a warning that shows the new call."""

from __future__ import annotations

import numpy as np
import pytest

import dfcmodel
import markov
import responsefn
from dfcmodel import takano2006
from hopflow.deprecations import renamed
from responsefn import CUBIC, Reno

PATH = {"bandwidth": 500.0, "rtt": 0.04, "buffer": 20, "runs": 1}
OLD = [
    (dfcmodel.simulate, ("1",), {"rng": 3, "duration": 0.02}, {"seed": 3, "duration": 0.02}),
    (dfcmodel.simulate, ("1",), {"method": "auto", "duration": 0.02}, {"level": "auto", "duration": 0.02}),
    (dfcmodel.check_step, ("1",), {"rng": 3, "duration": 0.01}, {"seed": 3, "duration": 0.01}),
    pytest.param(dfcmodel.theory.spectrum, ("1",), {"rng": 3}, {"seed": 3}, marks=pytest.mark.slow),
    (dfcmodel.compare, (Reno(), CUBIC()), PATH | {"seconds": 2.0}, PATH | {"duration": 2.0}),
    (markov.paths, (markov.MM1K(),), {"horizon": 2.0, "start": (0,), "seed": 1}, {"duration": 2.0, "start": (0,), "seed": 1}),
    (dfcmodel.coexist, (Reno(), 0.04, 500.0, 20), {"seconds": 2.0, "p": 0.01}, {"duration": 2.0, "loss": 0.01}),
    (responsefn.simulate_rule, (Reno(), 1e-3, 0.1), {"rng": 2}, {"seed": 2}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "given", "old", "new"), OLD, ids=lambda case: getattr(case, "__name__", None)
)
def test_an_old_name_gives_the_same_answer_and_the_new_call(function, given, old, new) -> None:
    arguments = [takano2006(each) if isinstance(each, str) else each for each in given]
    with pytest.warns(DeprecationWarning, match="removed in the next release") as said:
        before = function(*arguments, **old)
    after = function(*arguments, **new)
    for name in new.keys() - old.keys():
        write = f"write {function.__name__}({name}={new[name]!r})"
        assert any(write in str(each.message) for each in said), [str(w.message) for w in said]
    assert _without_times(before) == _without_times(after)


def _without_times(result: object) -> list[str]:
    """The lines of a result's table, without those that say how long it took."""
    return [line for line in repr(result).splitlines() if " s of" not in line and "time" not in line and "simulated in" not in line]  # fmt: skip


def test_both_names_are_refused() -> None:
    @renamed(rng="seed")
    def draw(seed: int = 0) -> int:
        return seed

    with pytest.raises(TypeError, match="rng is the old name of seed; both were given"):
        draw(seed=1, rng=2)


def test_the_horizon_of_paths_is_their_duration() -> None:
    found = markov.paths(markov.MM1K(), 2.0, start=(0,), seed=1)
    with pytest.warns(DeprecationWarning, match=r"write Paths\.duration"):
        assert found.horizon == found.duration == 2.0


def test_a_generator_is_a_seed_everywhere() -> None:
    draw = lambda: np.random.default_rng(5)
    scenario = takano2006("1")
    one, two = (dfcmodel.simulate(scenario, duration=0.01, seed=draw()) for _ in range(2))
    assert np.array_equal(one.delivered, two.delivered)
    assert dfcmodel.Packets(seed=draw()) == dfcmodel.Packets(seed=draw())
    assert dfcmodel.ensemble(scenario, 2, duration=0.01, seed=draw()).seed > 0
    assert dfcmodel.compare([Reno()], **PATH, duration=2.0, seed=draw()).rules == (Reno(),)
