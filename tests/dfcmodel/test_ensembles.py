"""Ensembles: the same runs wherever they are made, and those that Ctrl-C leaves."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from dfcmodel import RunSettings, ensemble, simulate, takano2006
from dfcmodel.results import Ensemble
from hopflow import Interrupted
from tests.option_objects import grouped

SCENARIO = takano2006("1", dfc=False)


SETTINGS = {"runs": 4, "jitter": 1e-3, "duration": 0.12, "level": "fluid"}


@pytest.fixture(scope="module")
def many() -> Ensemble:
    return ensemble(SCENARIO, **grouped(ensemble, SETTINGS))


def same(one: Ensemble, other: Ensemble) -> bool:
    fields = ("in_transit", "window", "lost", "queued", "peak_queue", "timeouts", "loss_events")
    return len(one) == len(other) and all(
        np.array_equal(getattr(a, field), getattr(b, field))
        for a, b in zip(one.runs, other.runs, strict=True)
        for field in fields
    )


class Backwards(Executor):
    """Does what it is given last first, all when the first result is asked for."""

    def __init__(self) -> None:
        self.tasks = []

    def submit(self, fn, /, *args, **kwargs):
        future: Future = Future()
        self.tasks.append((future, fn, args, kwargs))
        if len(self.tasks) == SETTINGS["runs"]:
            for one, function, given, named in reversed(self.tasks):
                one.set_result(function(*given, **named))
        return future


def test_same_runs_in_any_order(many) -> None:
    assert same(many, ensemble(SCENARIO, **grouped(ensemble, SETTINGS), executor=Backwards()))


class Interrupting(ThreadPoolExecutor):
    """Ctrl-C comes when it is given its fourth part."""

    parts = 0

    def submit(self, fn, /, *args, **kwargs):
        self.parts += 1
        if self.parts == 4:
            raise KeyboardInterrupt
        return super().submit(fn, *args, **kwargs)


def test_complete_runs_outlive_ctrl_c() -> None:
    with (
        Interrupting(1) as pool,
        pytest.raises(Interrupted, match=r"of 12 runs complete") as error,
    ):
        ensemble(SCENARIO, 12, jitter=1e-3, executor=pool, level="fluid", options=RunSettings(duration=0.02))
    kept = error.value.result
    assert isinstance(error.value, KeyboardInterrupt)
    assert 2 <= len(kept) < 12
    assert np.isfinite(kept.intervals().efficiency).all()


def test_same_runs_in_other_processes(many) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert same(many, ensemble(SCENARIO, **grouped(ensemble, SETTINGS), executor=pool))


def test_runs_differ_and_follow_from_the_seed(many) -> None:
    assert many.distinct == len(many) == 4
    other = ensemble(SCENARIO, **grouped(ensemble, SETTINGS), seed=1)
    assert not same(many, other)
    first = np.random.SeedSequence(1).spawn(1)[0]
    alone = simulate(
        SCENARIO,
        duration=0.12,
        jitter=1e-3,
        sample=1e-2,
        seed=np.random.default_rng(first),
        level="fluid",
    )
    np.testing.assert_array_equal(alone.in_transit, other.runs[0].in_transit)


@pytest.mark.parametrize("level", ["fluid", "packets"])
def test_an_ensemble_of_short_runs_has_a_sample_of_their_duration(level) -> None:
    """It has one of 10 ms otherwise; that of a shorter run was refused, although nobody had given it."""
    few = ensemble(SCENARIO, 2, level=level, options=RunSettings(duration="2ms"))
    assert [run.time.tolist() for run in few.runs] == 2 * [[pytest.approx(2e-3)]]
    with pytest.raises(ValueError, match=r"^sample = 0.01: must be a finite number"):
        ensemble(SCENARIO, 2, level=level, options=RunSettings(duration="2ms", sample="10ms"))


def test_starts_that_differ_by_less_than_a_step_make_runs_differ() -> None:
    few = ensemble(SCENARIO, 8, jitter="20us", level="fluid", options=RunSettings(duration=0.12))
    assert few.jitter < few.runs[0].step
    assert few.distinct == 8


def test_more_runs_keep_the_first_ones(many) -> None:
    more = ensemble(SCENARIO, **grouped(ensemble, SETTINGS, runs=6))
    np.testing.assert_array_equal(more.mean_efficiency()[:4], many.mean_efficiency())


def test_without_anything_random_all_runs_are_one() -> None:
    still = ensemble(SCENARIO, **grouped(ensemble, SETTINGS, jitter=0.0, duration=0.03))
    assert still.distinct == 1
    assert "4 (1 of them distinct)" in repr(still)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ({"runs": 1}, "runs = 1.*use simulate"),
        ({"runs": 2.5}, r"runs = 2\.5"),
        ({"seed": -1}, "seed = -1"),
        ({"jitter": -1e-6}, "jitter"),
        ({"duration": 0.0}, "duration"),
    ],
)
def test_refused(refused, arguments, part) -> None:
    with pytest.raises(ValueError, match=part):
        ensemble(SCENARIO, **grouped(ensemble, SETTINGS, arguments))
