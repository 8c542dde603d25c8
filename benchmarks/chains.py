"""pi Q = 0 of the pause chain: hopflow's methods, QuantEcon's GTH and SciPy, on one core.

A BLAS of several threads would make small problems slower, ours and others', on a machine that has
anything else to do.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # it is read when NumPy is imported

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from benchmarks.peers import solvers
from benchmarks.timing import Row, compare
from markov import (
    GTH,
    Cluster,
    GaussSeidel,
    Krylov,
    Levels,
    MarkovChain,
    Multilevel,
    PauseTandem,
    SparseLU,
    explore,
    generator,
    stationary_by_level,
    sweep,
)
from markov.proofs.certificates import relative_residual

if TYPE_CHECKING:
    from collections.abc import Callable

    import scipy.sparse as sp
    from numpy.typing import NDArray


def rows() -> list[Row]:
    """Compare on the recurrent class of the paper's default, and on one of about 2,000 states."""
    found = []
    for buffers, high in (((10, 20), 15), ((22, 43), 32)):
        model = PauseTandem(buffers=buffers, high_threshold=high)
        Q, _ = recurrent(MarkovChain(model))
        exact = GTH(block=1).solve(Q).pi

        def quantecon(Q=Q):
            from quantecon.markov import gth_solve

            return gth_solve(Q.toarray())

        def dense_lu(Q=Q):
            A = Q.toarray().T
            A[-1] = 1.0
            return scipy.linalg.solve(A, np.eye(len(A))[-1])

        def eigs(Q=Q):
            _, vectors = scipy.sparse.linalg.eigs(Q.T.tocsc(), k=1, sigma=1e-9)
            vector = vectors[:, 0].real
            return vector / vector.sum()

        alternatives = {
            "hopflow GTH": lambda Q=Q: GTH().solve(Q).pi,
            "hopflow SparseLU": lambda Q=Q: SparseLU().solve(Q).pi,
            "hopflow Levels": lambda Q=Q: Levels().solve(Q).pi,
            "hopflow GaussSeidel": lambda Q=Q: GaussSeidel().solve(Q).pi,
            "hopflow Krylov": lambda Q=Q: Krylov().solve(Q).pi,
            "QuantEcon gth_solve": quantecon,
            "SciPy dense LU": dense_lu,
            "SciPy eigs (shift-invert)": eigs,
        }

        def note(_name: str, pi: object, exact=exact) -> str:
            error = np.max(np.abs(pi - exact) / exact)
            return f"largest relative error {error:.0e}, smallest entry {np.min(pi):.1e}"

        found += compare(f"pi Q = 0, {Q.shape[0]} states", alternatives, rounds=3, note=note)
        found += compare(
            f"rules to matrix, {model.space_size} states",
            {
                "hopflow generator": lambda model=model: generator(model),
                "hopflow plain Python": lambda model=model: generator(model, compiled=False),
            },
            rounds=3,
        )
    return found + from_rules() + sweeps() + large((50, 100)) + large((160, 320)) + million() + many_levels()


def per(row: Row, count: int, unit: str) -> Row:
    """Return a row with a note on the nanoseconds per item."""
    each = f"{1e9 * row.seconds / count:.3g} ns per {unit}, {count / row.seconds:.3g} per s"
    return replace(row, note="; ".join(filter(None, (each, row.note))))


def from_rules() -> list[Row]:
    """Time the matrix over known states, and the search for states from the start."""
    model, cluster = (
        PauseTandem(buffers=(800, 1020), high_threshold=1000),
        Cluster(workstations=100),
    )
    Q = generator(model)
    transitions = int(Q.nnz - np.count_nonzero(Q.diagonal()))
    tasks = [("rules to matrix", Q.shape[0], generator, model, transitions, "transition")]
    for each in (model, cluster):
        states = explore(each).chain.size
        tasks.append(("reachable states", states, explore, each, states, "state"))
    found = []
    for task, states, run, of, count, unit in tasks:
        name = f"hopflow {run.__name__}, {type(of).__name__}"
        alternatives = {name: lambda run=run, of=of: run(of)}
        rows = compare(f"{task}, {states}", alternatives, rounds=3)
        found += [per(row, count, unit) for row in rows]
    return found


def sweeps() -> list[Row]:
    """Time the enumeration of thresholds and round-trip times of the paper's size."""
    models = [PauseTandem(arrival_rates=rates) for rates in ((25.0, 1.0), (25.0, 10.0, 1.0))]
    values = {"high_threshold": range(2, 21), "rtt": np.linspace(0.1, 2.0, 20)}

    def all_points() -> list[object]:
        return [sweep(model, **values) for model in models]

    points = len(models) * 19 * 20
    return compare(f"threshold sweep, {points} points", {"hopflow sweep": all_points}, rounds=3)


def recurrent(chain: MarkovChain) -> tuple[sp.csr_matrix, dict[str, NDArray[np.int64]]]:
    """Return the generator on a model's recurrent class, and the values of the components there."""
    return chain.irreducible(0), chain.components_of(chain.recurrent_classes[0])


def accuracy(Q: sp.csr_matrix) -> Callable[[str, object], str]:
    """Return a function that returns the note on a solution pi."""
    return lambda _name, pi: f"residual {relative_residual(Q, pi):.0e}, smallest entry {np.min(pi):.1e}"


def million() -> list[Row]:
    """Time multigrid at a million recurrent states."""
    Q, components = recurrent(MarkovChain(PauseTandem(buffers=(500, 1000), high_threshold=750)))

    solve = {"hopflow Multilevel": lambda: Multilevel().solve(Q, components).pi}
    rows = compare(f"pi Q = 0, {Q.shape[0]} states", solve, rounds=1, note=accuracy(Q))
    return [per(row, Q.shape[0], "state") for row in rows]


def large(buffers: tuple[int, int]) -> list[Row]:
    """Compare multigrid with sparse factors and preconditioned GMRES on a pause chain."""
    model = PauseTandem(buffers=buffers, high_threshold=buffers[1] * 3 // 4)
    Q, components = recurrent(MarkovChain(model))
    n = Q.shape[0]
    alternatives = {
        "hopflow stationary, rules to error bound": solvers.hopflow_proof(Q, components, model),
        "hopflow Multilevel": lambda: Multilevel().solve(Q, components).pi,
        "hopflow Multilevel, components unknown": lambda: Multilevel().solve(Q).pi,
        "hopflow Krylov, multilevel": lambda: Krylov(preconditioner="multilevel").solve(Q, components).pi,
        "SciPy spsolve": solvers.spsolve(Q, components, model),
    }
    if n < 50_000:  # half a minute at 100,000 states
        alternatives["SciPy GMRES + ILU"] = solvers.gmres_ilu(Q, components, model)
    rounds = 3 if n < 50_000 else 1
    return compare(f"pi Q = 0, {n} states", alternatives, rounds=rounds, note=accuracy(Q))


def many_levels() -> list[Row]:
    """Compare levels on demand with the whole chain, and a thousand levels with a million."""
    few, many = (PauseTandem(buffers=(n, 100), high_threshold=75) for n in (1_000, 1_000_000))

    def by_level(model):
        answer = stationary_by_level(model)
        answer.measures  # noqa: B018  # all of them
        return answer

    def whole():
        chain = MarkovChain(few)
        pi = np.zeros(chain.size)
        pi[chain.recurrent_classes[0]] = Multilevel().solve(*recurrent(chain)).pi
        return few.measures(pi, chain.states)

    def note(_name: str, answer) -> str:
        if isinstance(answer, dict):
            queue, throughput = answer["mean_queue"][1][0], answer["throughput"][1]
            return f"mean queue {queue:.12g}, throughput {throughput:.12g}"
        seen = f"mean queue {answer['mean_queue'][0]:.12g}, throughput {answer['throughput']:.12g}"
        return f"{seen}, {answer.chain.size:.3g} states, {answer.memory / 1e6:.0f} MB"

    alternatives = {
        "hopflow by level, B1 = 1,000": lambda: by_level(few),
        "hopflow by level, B1 = 1,000,000": lambda: by_level(many),
        "hopflow Multilevel, B1 = 1,000": whole,
    }
    return compare("pause chain with B2 = 100, measures", alternatives, rounds=1, note=note)
