"""Which method is chosen, what is predicted before it happens, and what small chains do without."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from hopflow import Status
from markov import (
    GTH,
    CoxTandem,
    Kanban,
    MarkovChain,
    Multilevel,
    PauseTandem,
    Polling,
    SparseLU,
    explore,
    stationary,
)
from markov.computing import costs
from markov.methods.choice import choose
from tests.markov.methods.conftest import tree


def test_what_is_chosen():
    """Elimination where it is short, factors on a tree, multigrid where both would fill in."""
    stationary(explore(Polling(stations=8)), Multilevel(), proof=False)  # loads Numba
    assert isinstance(stationary(PauseTandem()).method, GTH)
    assert isinstance(stationary(tree(30_000)).method, SparseLU)
    answer = stationary(explore(Polling(stations=10)))
    assert isinstance(answer.method, Multilevel)
    assert "multigrid" in answer.reason
    assert "predicted" in answer.reason


def test_a_sweep_loads_numba_once_it_has_missed_as_much(monkeypatch):
    """A chain that multigrid solves sooner where its kernels are loaded, solved by elimination a few times."""
    Q = MarkovChain(Kanban(tickets=2)).Q
    pytest.importorskip("numba")
    assert isinstance(choose(Q, None)[0], Multilevel)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setitem(costs._missed, "seconds", 0.0)
    found = [type(choose(Q, None)[0]) for _ in range(30)]
    first = found.index(Multilevel)
    assert 1 < first < 25
    assert set(found[:first]) == {GTH}
    assert set(found[first:]) == {Multilevel}


def test_without_numba_no_method_needs_it(monkeypatch):
    monkeypatch.setattr(costs, "has_numba", lambda: False)
    answer = stationary(explore(CoxTandem(capacity=15)))
    assert isinstance(answer.method, (GTH, SparseLU))
    assert answer.status is Status.CONVERGED


@pytest.mark.slow
def test_a_bare_tandem_of_two_million_states_has_a_bound():
    """Half of its probabilities are below 1e-280, of which multigrid promises only that they are positive."""
    chain = MarkovChain(explore(CoxTandem(capacity=1023)).chain.Q)
    assert stationary(chain).error_bound < 1e-9


FRESH = """
import sys
import numpy as np
from markov import explore, stationary

def machines(s, q):
    if s.working > 0:
        yield s._replace(working=s.working - 1), 0.1 * s.working
    if s.working < 3:
        yield s._replace(working=s.working + 1), 1.0

found = explore(machines, start={"working": 3}, rewards=lambda s: {"working": s.working})
small = stationary(found)
rates = np.random.default_rng(1).random((200, 200))
np.fill_diagonal(rates, 0.0)
dense = stationary(rates - np.diag(rates.sum(axis=1)))
rates[np.abs(np.subtract.outer(np.arange(200), np.arange(200))) > 2] = 0.0
band = stationary(rates - np.diag(rates.sum(axis=1)))
for answer in (small, dense, band):
    assert str(answer.status) == "converged" and answer.error_bound < 1e-14
    assert answer.entry_error < 1e-9
small.bound("working"), dense.bound(np.arange(200)), repr(band)
print("numba" in sys.modules)
"""


def test_small_chains_are_solved_and_bounded_without_loading_numba():
    done = subprocess.run([sys.executable, "-c", FRESH], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


REASONS = """
from markov import PauseTandem, stationary
reason = stationary(PauseTandem()).reason
import numba
assert stationary(PauseTandem()).reason == reason
print(reason)
"""


@pytest.mark.slow
def test_the_reason_is_the_same_in_every_process():
    """Whatever the order of sets, and whether Numba is loaded."""
    reasons = {
        subprocess.run(
            [sys.executable, "-c", REASONS],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(reasons) == 1
    assert "s predicted; multigrid " in reasons.pop()
