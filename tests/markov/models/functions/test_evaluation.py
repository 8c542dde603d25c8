"""Plain Python decides what a function of a state says; the matrix of forms is in test_functions_of_states."""

from __future__ import annotations

import itertools
from enum import Enum
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import (
    ChainModel,
    Kanban,
    MarkovChain,
    PauseChain,
    PauseTandem,
    PhaseQueue,
    SemiMarkov,
    explore,
    passage,
    stationary,
)
from markov.errors import RuleError
from markov.models.functions import evaluation
from markov.models.functions.evaluation import check_on_arrays, members_of, values_of
from markov.models.prism_suite import Cluster, CoxTandem, Polling
from markov.models.spaces import Space
from markov.models.state_tables import StateTable


class Mode(Enum):
    IDLE = 0
    SEEK = 1
    SLEEP = 5


class Disk(NamedTuple):
    n: int
    m: int
    mode: Mode


SPACE = Space(Disk, {"n": range(90), "m": range(90), "mode": Mode})
LARGE = StateTable(SPACE, SPACE.unnumbered(np.arange(SPACE.size)))


def walk(n: int, q: Any) -> Any:
    if n < 6:
        yield n + 1, 1.0
    if n > 0:
        yield n - 1, 1.5


@pytest.mark.parametrize(
    ("condition", "mean"),
    [
        (lambda n: n % 2, 2 / 3),
        (lambda n: n % 2 == 1, 2 / 3),
        (lambda n: n in (0, 1), 6.526748971193416),
        (lambda n: not n, 8.35116598079561),
        (lambda n: n == 0 or n == 1, 6.526748971193416),
    ],
    ids=itertools.count(),
)
def test_sets_are_what_python_says(condition: Any, mean: float) -> None:
    """The means from 6 by birth and death: h(n) = (1 + 1.5 h(n - 1)) / 1.5 summed from the top."""
    found = passage(explore(walk, start=6), to=condition, start=6)
    assert found.mean == pytest.approx(mean, rel=1e-12)


def test_an_enumeration_in_a_loop() -> None:
    """One lambda, one code object, and another value each time."""
    for mode in Mode:
        found = values_of(lambda s, m=mode: {"at": s.mode is m}, None, LARGE, "labels")
        assert found["at"].of.tolist() == [s.mode is mode for s in LARGE.plain()]


def test_a_rare_state_of_a_large_chain_is_not_missed() -> None:
    """One of 24,300 states, in none of the samples: found because columns decide as Python does."""
    rare = Disk(41, 57, Mode.SEEK)
    assert LARGE.count > evaluation.PLAIN_STATES
    for condition in (
        lambda s: s.n == 41 and s.m == 57 and s.mode is Mode.SEEK,
        lambda s: s == rare,
        lambda s: (s.n == 41) is True and s.m == 57 and s.mode is Mode.SEEK,
        lambda s: f"{s.n},{s.m}" == "41,57" and s.mode.value == 1,
        lambda s: np.logical_and(s.n == 41, s.m == 57) and s.mode is Mode.SEEK,
        lambda s: np.sum([s.n == 41, s.m == 57, s.mode is Mode.SEEK]) == 3,
    ):
        members = np.flatnonzero(members_of(condition, LARGE, "to"))
        assert list(LARGE.plain(members)) == [rare]


def test_whole_numbers_of_any_size() -> None:
    found = members_of(lambda s: s.n**40 % 3 == 1 and s.n, LARGE, "to")
    assert found.tolist() == [bool(s.n**40 % 3 == 1 and s.n) for s in LARGE.plain()]
    assert members_of(lambda s: 10**400, LARGE.part(slice(3)), "to").all()


def test_an_error_in_one_state_of_a_large_chain_is_named() -> None:
    said = r"^to: Disk\(n=41, m=57, .*ZeroDivisionError.*line \d+: .*; guard the division"
    with pytest.raises(RuleError, match=said):
        members_of(lambda s: 1 / ((s.n - 41) ** 2 + (s.m - 57) ** 2), LARGE, "to")


def test_a_function_for_arrays_only_is_refused_with_what_to_write() -> None:
    said = r"'int' object has no attribute 'astype' .*; it is called with one state"
    with pytest.raises(RuleError, match=said):
        passage(explore(walk, start=6), to=lambda n: n.astype(float) > 2)
    members = explore(walk, start=6).states > 2
    assert passage(explore(walk, start=6), to=members, start=0).mean > 0.0


@pytest.mark.parametrize(
    "model",
    [
        PauseTandem(buffers=(3, 4), high_threshold=3),
        PauseTandem(buffers=(3, 4), high_threshold=3, pause_at_threshold="both"),
        PauseChain(buffers=(2, 3, 2), high_threshold=2),
        Cluster(workstations=2),
        Kanban(tickets=1),
        CoxTandem(capacity=4),
        Polling(stations=3),
        PhaseQueue(capacity=4),
        SemiMarkov(),
    ],
    ids=itertools.count(),
)
def test_measures_of_the_library_hold_for_each_state(model: ChainModel) -> None:
    """They are called with all states at once, without a comparison."""
    table = MarkovChain(model).table
    assert getattr(type(model).rewards, "__elementwise__", False)
    at_once = values_of(model.rewards, None, table, "rewards")
    one_by_one = values_of(lambda s: model.rewards(s), None, table, "rewards")
    assert at_once.keys() == one_by_one.keys()
    for name, mean in at_once.items():
        for part, other in zip(mean.parts(), one_by_one[name].parts(), strict=True):
            np.testing.assert_array_equal(part, other, err_msg=name)


def test_a_class_below_one_of_the_library_is_called_with_one_state() -> None:
    class Mine(CoxTandem):
        def rewards(self, s: Any) -> Any:
            return {"even": 1.0 if s.first % 2 == 0 else 0.0}

    answer = stationary(Mine(capacity=4))
    even = [s.first % 2 == 0 for s in answer.chain.table.plain()]
    assert answer["even"] == pytest.approx(float(answer.pi @ even), rel=1e-12)


@pytest.mark.parametrize(
    "function",
    [
        lambda s: s.n + 2 * s.m,
        lambda s: (s.n > 3) & (s.m == 5),
        lambda s: np.where(s.n > s.m, 1.0, 0.5),
    ],
    ids=itertools.count(),
)
def test_functions_that_are_to_run_on_arrays(function: Any) -> None:
    table = LARGE.part(LARGE.sample())
    check_on_arrays(function, table, table.arrays, "reward")


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (lambda s: s.n and s.m, "fails for arrays: ValueError"),
        (lambda s: (s.n == 3) is True, "arrays may give another value"),
        (lambda s: 1.0 if isinstance(s.n, int) else 0.0, "arrays may give another value"),
        (lambda s: np.max(s.n), "arrays may give another value"),
    ],
    ids=itertools.count(),
)
def test_functions_that_arrays_would_change_are_refused(function: Any, said: str) -> None:
    table = LARGE.part(LARGE.sample())
    with pytest.raises(RuleError, match=rf"{said}.*; use arithmetic"):
        check_on_arrays(function, table, table.arrays, "reward")
