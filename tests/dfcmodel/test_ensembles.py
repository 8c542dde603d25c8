"""Ensembles: the same runs wherever they are made, and intervals that cover what they should."""

from __future__ import annotations

from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from dfcmodel import Ensemble, ensemble, simulate, takano2006
from dfcmodel.ensembles import mean_interval

SCENARIO = takano2006("1", dfc=False)


SETTINGS = {"runs": 4, "jitter": 1e-3, "duration": 0.12}


@pytest.fixture(scope="module")
def many() -> Ensemble:
    return ensemble(SCENARIO, **SETTINGS)


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
    assert same(many, ensemble(SCENARIO, **SETTINGS, executor=Backwards()))


def test_same_runs_in_other_processes(many) -> None:
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        assert same(many, ensemble(SCENARIO, **SETTINGS, executor=pool))


def test_runs_differ_and_follow_from_the_seed(many) -> None:
    assert many.distinct == len(many) == 4
    other = ensemble(SCENARIO, **SETTINGS, seed=1)
    assert not same(many, other)
    first = np.random.SeedSequence(1).spawn(1)[0]
    alone = simulate(
        SCENARIO, duration=0.12, jitter=1e-3, sample=1e-2, rng=np.random.default_rng(first)
    )
    np.testing.assert_array_equal(alone.in_transit, other.runs[0].in_transit)


def test_starts_that_differ_by_less_than_a_step_make_runs_differ() -> None:
    few = ensemble(SCENARIO, 8, duration=0.12)
    assert few.jitter < few.runs[0].step
    assert few.distinct == 8


def test_more_runs_keep_the_first_ones(many) -> None:
    more = ensemble(SCENARIO, **{**SETTINGS, "runs": 6})
    np.testing.assert_array_equal(more.mean_efficiency()[:4], many.mean_efficiency())


def test_without_anything_random_all_runs_are_one() -> None:
    still = ensemble(SCENARIO, **{**SETTINGS, "jitter": 0.0, "duration": 0.03})
    assert still.distinct == 1
    assert "4 (1 of them distinct)" in repr(still)


def test_dataset_and_intervals(many) -> None:
    data = many.to_xarray()
    assert data["efficiency"].dims == ("run", "flow", "time")
    assert data["occupancy"].dims == ("run", "node", "time")
    assert data["losses"].dims == ("run", "flow", "node", "time")
    assert data["timeouts"].dims == ("run", "flow")
    np.testing.assert_array_equal(many.occupancy.sel(run=2).values, many.runs[2].queued)
    found = many.intervals(since=0.05)
    values = many.mean_efficiency(since=0.05)
    low, high = mean_interval(values)
    target = found["efficiency"].sel(flow="target")
    assert float(target.sel(estimate="mean")) == pytest.approx(values[:, 0].mean(), rel=1e-12)
    assert float(target.sel(estimate="low")) == pytest.approx(low[0], rel=1e-12)
    assert float(target.sel(estimate="high")) == pytest.approx(high[0], rel=1e-12)
    lost = np.mean([run.lost.sum(axis=2) for run in many.runs], axis=0)
    everything = many.intervals()["losses"].sel(estimate="mean")
    np.testing.assert_allclose(everything.values, lost, rtol=1e-12)
    assert lost[0, 0] > 0


def test_interval_is_students() -> None:
    """Four runs: half-width 3.182 standard errors; the level is kept to where it should be."""
    values = np.array([1.0, 2.0, 3.0, 4.0])
    low, high = mean_interval(values)
    assert (low + high) / 2 == pytest.approx(2.5)
    assert (high - low) / 2 == pytest.approx(3.182 * values.std(ddof=1) / 2, rel=1e-3)
    samples = np.random.default_rng(0).normal(size=(5, 20_000))
    low, high = mean_interval(samples, 0.9)
    # binomial: three standard deviations of 20,000 intervals
    assert np.mean((low < 0) & (high > 0)) == pytest.approx(0.9, abs=3 * (0.09 / 20_000) ** 0.5)


def test_display(many) -> None:
    assert "mean efficiency" in repr(many)
    assert "of chance alone" in repr(many), "the error of the model is not in the interval"
    assert "status" in repr(many)
    page = many._repr_html_()
    assert "data:image/png" in page
    ax = many.plot()
    middle = ax.lines[0].get_ydata()
    np.testing.assert_array_equal(middle, np.median(many.efficiency.values[:, 0], axis=0))
    assert sum(bar.get_width() for bar in ax.figure.axes[1].patches) == 2 * len(many)


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
        ensemble(SCENARIO, **{**SETTINGS, **arguments})


def test_intervals_refuse(many) -> None:
    with pytest.raises(ValueError, match="level = 1"):
        many.intervals(level=1.0)
    with pytest.raises(ValueError, match="since = 5"):
        many.intervals(since=5.0)
