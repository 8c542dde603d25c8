"""pi Q = 0 of the pause chain: hopflow's methods beside QuantEcon's GTH and SciPy."""

from __future__ import annotations

import numpy as np
import scipy.linalg
import scipy.sparse.linalg

from benchmarks.timing import Row, compare
from markov import (
    GTH,
    Cluster,
    GaussSeidel,
    Krylov,
    Levels,
    MarkovChain,
    PauseTandem,
    SparseLU,
    explore,
    generator,
)


def rows() -> list[Row]:
    """Compare on the recurrent class of the paper's default, and of one five times as large."""
    found = []
    for buffers, high in (((10, 20), 15), ((25, 50), 38)):
        model = PauseTandem(buffers=buffers, high_threshold=high)
        chain = MarkovChain(model)
        states = chain.recurrent_classes[0]
        Q = chain.Q[states][:, states].tocsr()
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

        found += compare(f"pi Q = 0, {len(states)} states", alternatives, note=note)
        found += compare(
            f"rules to matrix, {model.size} states",
            {
                "hopflow compiled": lambda model=model: generator(model),
                "hopflow plain Python": lambda model=model: generator(model, compiled=False),
            },
            rounds=3,
        )
        cluster = Cluster(workstations=100)
    states = explore(cluster).chain.size
    return found + compare(
        f"reachable states of a cluster, {states}",
        {"hopflow explore": lambda: explore(cluster)},
        rounds=3,
    )
