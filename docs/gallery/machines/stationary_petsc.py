"""pi Q = 0 with PETSc and SLEPc: each rank assembles its rows of the generator from rules on arrays of states.

    mpiexec -n 2 python3 stationary_petsc.py [B1 B2] [--petsc-only]

The model is the pause tandem with buffers of B1 and B2 packets. Rank 0 prints the throughput, the largest
residual |pi Q| and, up to 10,000 states, the difference from `markov.stationary`.
"""

import sys
import time

import numpy as np
import scipy.sparse as sp
from petsc4py import PETSc
from slepc4py import SLEPc

from markov import PauseTandem, stationary

UP, DOWN = 0, 1
MAX_COMPARED_STATES = 10_000
RANK, RANKS = PETSc.COMM_WORLD.rank, PETSc.COMM_WORLD.size


def transitions(q, i, j, k, a):
    """Yield (condition, new i, j, k, a, rates) of the rules of `PauseTandem` for arrays of states; a counts from 0."""
    mu = np.where(k == UP, q.mu1, q.mu2)
    arrivals = np.asarray(q.rates)[a]
    after_loss = np.minimum(2 * a + 1, q.N - 1)
    pauses = (k == UP) & (j == q.T1)
    yield (i >= 1) & (j == q.B2), i - 1, j, k, after_loss, mu
    yield (i >= 1) & (j < q.B2), i - 1, j + 1, np.where(pauses, DOWN, k), a, mu
    yield j >= 1, i, j - 1, np.where(j == q.T2, UP, k), a, q.nu
    yield a >= 1, i, j, k, a - 1, q.recovery_rate
    yield i < q.B1, i + 1, j, k, a, arrivals
    yield i == q.B1, i, j, k, after_loss, arrivals


def generator(model):
    """Return Q over the whole space; each rank computes its rows."""
    q = model.symbols()
    shape = (q.B1 + 1, q.B2 + 1, 2, q.N)
    size = int(np.prod(shape))
    first, last = (size * rank // RANKS for rank in (RANK, RANK + 1))
    rows = np.arange(first, last)
    block = sp.csr_matrix((last - first, size))
    for condition, *target, rate in transitions(q, *np.unravel_index(rows, shape)):
        states = np.flatnonzero(condition)
        columns = np.ravel_multi_index([component[states] for component in target], shape)
        rates = np.broadcast_to(rate, condition.shape)[states]
        states, columns, rates = (values[columns != rows[states]] for values in (states, columns, rates))
        block += sp.csr_matrix((rates, (states, columns)), block.shape)
    block -= sp.csr_matrix((np.asarray(block.sum(axis=1)).ravel(), (rows - first, rows)), block.shape)
    arrays = block.indptr.astype(PETSc.IntType), block.indices.astype(PETSc.IntType), block.data
    return PETSc.Mat().createAIJ(((last - first, size), (last - first, size)), csr=arrays, comm=PETSc.COMM_WORLD)


def reachable(Q, start):
    """Return 1 for each state that the start leads to, by products with Q."""
    reached = Q.createVecRight()
    reached.setValue(start, 1.0)
    reached.assemble()
    arrived = reached.duplicate()
    count, previous = 1.0, 0.0
    while count > previous:
        Q.multTranspose(reached, arrived)
        reached.array[arrived.array > 0.0] = 1.0
        previous, count = count, reached.sum()
    return reached


def states_of(Q, reached):
    """Return the index set of this rank's reached states."""
    first, _ = Q.getOwnershipRange()
    return PETSc.IS().createGeneral((first + np.flatnonzero(reached.array)).astype(PETSc.IntType), comm=Q.comm)


def by_direct_solution(A):
    """Return pi of a transposed generator: the balance of all states but one, whose probability is 1 before scaling."""
    pi, right = A.createVecs()
    A = A.copy()
    A.zeroRows([0], diag=1.0)
    right.set(0.0)
    right.setValue(0, 1.0)
    right.assemble()
    solver = PETSc.KSP().create(A.comm)
    solver.setOperators(A)
    solver.setType("preonly")
    solver.getPC().setType("lu")
    solver.getPC().setFactorSolverType("mumps")
    solver.solve(right, pi)
    pi.scale(1.0 / pi.sum())
    return pi


def by_eigenvector(A):
    """Return pi as the eigenvector to 0 of a transposed generator."""
    problem = SLEPc.EPS().create(A.comm)
    problem.setOperators(A)
    problem.setProblemType(SLEPc.EPS.ProblemType.NHEP)
    problem.setTarget(1e-8)  # beside 0, where the matrix is singular
    problem.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
    problem.setTolerances(1e-14, 200)
    transform = problem.getST()
    transform.setType("sinvert")
    transform.getKSP().setType("preonly")
    transform.getKSP().getPC().setType("lu")
    transform.getKSP().getPC().setFactorSolverType("mumps")
    problem.solve()
    pi = A.createVecRight()
    problem.getEigenpair(0, pi)
    pi.scale(1.0 / pi.sum())
    return pi


def on_first_rank(values):
    """Return all values of a vector on rank 0."""
    scatter, copy = PETSc.Scatter.toZero(values)
    scatter.scatter(values, copy)
    return copy.array.copy()


def main():
    """Solve, and print on rank 0."""
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    buffers = tuple(numbers) or (10, 20)
    model = PauseTandem(buffers=buffers, high_threshold=3 * buffers[1] // 4)
    q = model.symbols()
    shape = (q.B1 + 1, q.B2 + 1, 2, q.N)
    started = time.perf_counter()
    Q = generator(model)
    reached = reachable(Q, 0)
    indices = states_of(Q, reached)
    A = Q.createSubMatrix(indices, indices).transpose()
    assembled = time.perf_counter() - started
    solvers = {"PETSc": by_direct_solution, "SLEPc": by_eigenvector}
    if "--petsc-only" in sys.argv:
        del solvers["SLEPc"]
    states = on_first_rank(reached)
    for name, solve in solvers.items():
        started = time.perf_counter()
        pi = solve(A)
        seconds = time.perf_counter() - started
        residual = A.createVecLeft()
        A.mult(pi, residual)
        error = residual.norm(PETSc.NormType.INFINITY)
        values = on_first_rank(pi)
        if RANK:
            continue
        space = np.flatnonzero(states)
        busy = np.unravel_index(space, shape)[1] > 0
        text = (
            f"{name} on {RANKS} ranks: {len(space):,} states, assembled in {assembled:.2g} s, "
            f"solved in {seconds:.2g} s, throughput {q.nu * values[busy].sum():.6f} packets/s, residual {error:.0e}"
        )
        if len(space) <= MAX_COMPARED_STATES:
            answer = stationary(model)
            i, j, k, a = map(np.asarray, answer.chain.states)
            order = np.searchsorted(space, np.ravel_multi_index((i, j, k - 1, a - 1), shape))
            text += f", difference {abs(values[order] - answer.pi).sum():.1e}"
        print(text)


if __name__ == "__main__":
    main()
