"""Quality of the choice of a method: CPU seconds of ``stationary(chain)`` and of each method.

The constants of `markov.computing.costs` were fitted to the first set. The second one was set aside.
"""

from __future__ import annotations

import math
import os
import statistics
import time
from typing import TYPE_CHECKING, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # it is read when NumPy is imported

import numpy as np
import scipy.sparse as sp

import markov
from benchmarks.manufacturing import Parts, manufacturing
from benchmarks.timing import Row
from markov.computing import costs
from markov.elimination.bands import _band, band
from markov.elimination.lu import _best_order, best_order
from markov.methods.level_reduction import partition

if TYPE_CHECKING:
    from collections.abc import Callable

ROUNDS = 3
HOPELESS = 8.0  # times the best prediction, and
LONG = 1.0  # s: such a method is not run


class Parameters(NamedTuple):
    """Parts of each kind."""

    n: int


def pause(*buffers: int) -> markov.MarkovChain:
    """Return the pause chain of two queues."""
    return markov.MarkovChain(markov.PauseTandem(buffers=buffers, high_threshold=3 * buffers[0] // 4))


def parts(n: int) -> markov.MarkovChain:
    """Return the chain of the flexible manufacturing system."""
    params = Parameters(n)
    return markov.explore(manufacturing, start=Parts.start(n), params=params).chain


def bare(chain: markov.MarkovChain) -> markov.MarkovChain:
    """Return a chain given by its matrix alone."""
    return markov.MarkovChain(chain.Q)


def random_chain(n: int, degree: float, seed: int) -> markov.MarkovChain:
    """Return a ring with additional random transitions per state."""
    rng = np.random.default_rng(seed)
    rates = sp.random(n, n, degree / n, format="csr", random_state=rng)
    ring = sp.csr_matrix((rng.random(n), (np.arange(n), np.roll(np.arange(n), 1))), shape=(n, n))
    rates = sp.csr_matrix(rates + ring)
    rates.setdiag(0.0)
    rates.eliminate_zeros()
    return markov.MarkovChain(sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())))


def random_tree(n: int, seed: int) -> markov.MarkovChain:
    """Return a reversible chain on a random tree."""
    rng = np.random.default_rng(seed)
    above = np.array([rng.integers(0, x) for x in range(1, n)])
    below = np.arange(1, n)
    ends = np.concatenate([above, below]), np.concatenate([below, above])
    rates = sp.csr_matrix((rng.random(2 * (n - 1)) + 0.1, ends), shape=(n, n))
    return markov.MarkovChain(sp.csr_matrix(rates - sp.diags(np.asarray(rates.sum(axis=1)).ravel())))


def explored(model: object) -> markov.MarkovChain:
    """Return the chain of the states that a model reaches."""
    return markov.explore(model).chain


FITTED: dict[str, Callable[[], markov.MarkovChain]] = {
    "dense, 100": lambda: random_chain(100, 99.0, 1),
    "dense, 800": lambda: random_chain(800, 799.0, 1),
    "anywhere, 3,000": lambda: random_chain(3000, 4.0, 1),
    "tree, 20,000": lambda: random_tree(20_000, 1),
    "M/M/1/10,000": lambda: markov.MarkovChain(markov.MM1K(capacity=10_000)),
    "pause 22, 43": lambda: pause(22, 43),
    "pause 60, 120": lambda: pause(60, 120),
    "pause 60, 120, bare": lambda: bare(pause(60, 120)),
    "pause 223, 223": lambda: pause(223, 223),
    "Kanban 1": lambda: explored(markov.Kanban(tickets=1)),
    "Kanban 3": lambda: explored(markov.Kanban(tickets=3)),
    "Polling 8": lambda: explored(markov.Polling(stations=8)),
    "Cluster 32": lambda: explored(markov.Cluster(workstations=32)),
    "Cox tandem 63": lambda: explored(markov.CoxTandem(capacity=63)),
    "Cox tandem 255, bare": lambda: bare(explored(markov.CoxTandem(capacity=255))),
}
SET_ASIDE: dict[str, Callable[[], markov.MarkovChain]] = {
    "dense, 400": lambda: random_chain(400, 399.0, 2),
    "dense, 1,600": lambda: random_chain(1600, 1599.0, 2),
    "anywhere, 1,000": lambda: random_chain(1000, 2.0, 2),
    "anywhere, 10,000": lambda: random_chain(10_000, 3.0, 2),
    "tree, 100,000": lambda: random_tree(100_000, 2),
    "M/M/1/100,000": lambda: markov.MarkovChain(markov.MM1K(capacity=100_000)),
    "pause 40, 80": lambda: pause(40, 80),
    "pause 120, 150": lambda: pause(120, 150),
    "pause, three queues": lambda: markov.MarkovChain(markov.PauseChain(buffers=(8, 12, 16), high_threshold=9)),
    "Jackson, 100 each": lambda: markov.MarkovChain(markov.JacksonTandem(capacity=100)),
    "manufacturing 2": lambda: parts(2),
    "manufacturing 3": lambda: parts(3),
    "manufacturing 4": lambda: parts(4),
    "Kanban 2": lambda: explored(markov.Kanban(tickets=2)),
    "Polling 10": lambda: explored(markov.Polling(stations=10)),
    "Polling 12": lambda: explored(markov.Polling(stations=12)),
    "Cluster 64": lambda: explored(markov.Cluster(workstations=64)),
    "Cox tandem 31": lambda: explored(markov.CoxTandem(capacity=31)),
    "Cox tandem 127, bare": lambda: bare(explored(markov.CoxTandem(capacity=127))),
}


def rows() -> list[Row]:
    """Compare on all chains, and summarize the loss by the choice on each of the two sets."""
    markov.stationary(random_chain(3000, 4.0, 0), markov.Multilevel())  # loads the kernels
    found = []
    for kind, chains in (("fitted", FITTED), ("set aside", SET_ASIDE)):
        losses = []
        for name, make in chains.items():
            part = _compared(f"{name} ({kind})", make())
            losses.append(part[0].seconds / min(row.seconds for row in part))
            found += part
        worst = f"worst {max(losses):.2f}, median {statistics.median(losses):.2f}"
        found.append(Row(f"loss of the choice, {kind}", worst, *[math.nan] * 4))
    return found


def _compared(task: str, chain: markov.MarkovChain) -> list[Row]:
    chosen = markov.stationary(chain)
    alternatives: dict[str, markov.Method | None] = {"chosen": None}
    predicted = _predicted(chain)
    best = min(seconds for _, seconds in predicted.values())
    for name, (method, seconds) in predicted.items():
        if seconds < max(HOPELESS * best, LONG):
            alternatives[name] = method
    times: dict[str, list[float]] = {name: [] for name in alternatives}
    notes = {"chosen": f"{type(chosen.method).__name__}; {chosen.reason}"}
    for turn in range(ROUNDS):
        for name, method in alternatives.items():
            _band.cache_clear()
            _best_order.cache_clear()
            start = time.process_time()
            answer = markov.stationary(chain, method, on_failure="return")
            times[name].append(time.process_time() - start)
            if turn == 0 and method is not None:
                notes[name] = f"{answer.status.label}, bound {answer.error_bound:.1e}, "
                notes[name] += f"{predicted[name][1]:.2g} s predicted"
    medians = {name: statistics.median(each) for name, each in times.items()}
    return [
        Row(
            task,
            name,
            medians[name],
            min(each),
            max(each),
            medians[name] / medians["chosen"],
            notes[name],
        )
        for name, each in times.items()
    ]


def _predicted(chain: markov.MarkovChain) -> dict[str, tuple[markov.Method, float]]:
    """Return the methods that could be chosen, and their predicted seconds with a bound."""
    Q = chain.irreducible(0)
    n, entries, form = Q.shape[0], Q.nnz, band(Q)
    order, levels = best_order(Q), partition(Q, chain.components, max_work=math.inf)
    cycles = costs.multigrid(n, entries) + costs.multigrid_proof(n, entries, shared=True)
    factored = order.seconds + costs.order_by_fill(entries) + costs.substitutions(order.fill)
    return {
        "GTH": (markov.GTH(), form.seconds + costs.substitutions(form.n_values)),
        "Levels": (markov.Levels(), costs.level_reduction(len(levels.sizes), levels.work)),
        "SparseLU": (markov.SparseLU(), factored),
        "Multilevel": (markov.Multilevel(), cycles),
    }
