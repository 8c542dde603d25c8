"""pi Q = 0 with PETSc and SLEPc: each rank assembles its rows of the generator from the rules.

    mpiexec -n 2 python3 stationary_petsc.py [B1 B2]

The model is the pause tandem with buffers of B1 and B2 packets. Rank 0 prints the throughput and the
largest difference from `markov.stationary`.
"""

import sys

import numpy as np
from petsc4py import PETSc
from slepc4py import SLEPc

from markov import ChainModel, PauseTandem, stationary
from markov.models.spaces import Space


def generator(model: ChainModel, space: Space) -> PETSc.Mat:
    """Return Q over the whole space, each rank's rows from the rules in plain Python."""
    Q = PETSc.Mat().createAIJ(size=(space.size, space.size), nnz=16, comm=PETSc.COMM_WORLD)
    Q.setOption(PETSc.Mat.Option.NEW_NONZERO_ALLOCATION_ERR, False)
    first, last = Q.getOwnershipRange()
    for row in range(first, last):
        state = space.state(space.unnumbered(np.array([row]))[:, 0])
        total = 0.0
        for target, rate in model.transitions(state):
            column = int(space.numbers(space.codes([target]))[0])
            if column != row:
                Q.setValue(row, column, rate, addv=PETSc.InsertMode.ADD_VALUES)
                total += rate
        Q.setValue(row, row, -total, addv=PETSc.InsertMode.ADD_VALUES)
    Q.assemble()
    return Q


def reachable(Q: PETSc.Mat, start: int) -> PETSc.Vec:
    """Return 1 for each state that the start leads to, by products with Q."""
    found = Q.createVecRight()
    found.setValue(start, 1.0)
    found.assemble()
    count, before = 1.0, 0.0
    while count > before:
        arrived = found.duplicate()
        Q.multTranspose(found, arrived)
        found.array[arrived.array > 0.0] = 1.0
        before, count = count, found.sum()
    return found


def by_direct_solution(Q: PETSc.Mat, kept: PETSc.Vec, start: int) -> PETSc.Vec:
    """Return pi: the balance of all states but one, whose probability is 1 before they are scaled."""
    A = Q.transpose(PETSc.Mat())
    first, last = A.getOwnershipRange()
    out = [row for row in range(first, last) if kept.array[row - first] == 0.0 or row == start]
    right = kept.duplicate()
    right.set(0.0)
    right.setValue(start, 1.0)
    right.assemble()
    A.zeroRows(out, diag=1.0)  # pi = 0 in states that are never entered, 1 at the start
    solver = PETSc.KSP().create(A.comm)
    solver.setOperators(A)
    solver.setType("preonly")
    solver.getPC().setType("lu")
    solver.getPC().setFactorSolverType("mumps")
    pi = right.duplicate()
    solver.solve(right, pi)
    pi.scale(1.0 / pi.sum())
    return pi


def by_eigenvector(Q: PETSc.Mat, kept: PETSc.Vec) -> PETSc.Vec:
    """Return pi as the eigenvector to 0 of the transposed generator on the states that are entered."""
    first, last = Q.getOwnershipRange()
    own = [row for row in range(first, last) if kept.array[row - first] > 0.0]
    part = PETSc.IS().createGeneral(own, comm=Q.comm)
    A = Q.createSubMatrix(part, part).transpose()
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
    found = A.createVecRight()
    problem.getEigenpair(0, found)
    found.scale(1.0 / found.sum())
    pi = kept.duplicate()
    pi.set(0.0)
    pi.setValues(own, found.array)
    pi.assemble()
    return pi


def main() -> None:
    """Solve, and compare on rank 0."""
    buffers = tuple(map(int, sys.argv[1:3])) or (10, 20)
    model = PauseTandem(buffers=buffers, high_threshold=3 * buffers[1] // 4)
    space = Space.of(model.State, model.space(), model.name)
    start = int(space.numbers(space.codes([model.start()]))[0])
    Q = generator(model, space)
    kept = reachable(Q, start)
    everywhere = {}
    for name, pi in (
        ("PETSc", by_direct_solution(Q, kept, start)),
        ("SLEPc", by_eigenvector(Q, kept)),
    ):
        scatter, copy = PETSc.Scatter.toZero(pi)
        scatter.scatter(pi, copy)
        everywhere[name] = copy.array.copy()
    if PETSc.COMM_WORLD.rank:
        return
    ours = stationary(model)
    numbers = space.numbers(np.array(ours.chain.states))
    for name, pi in everywhere.items():
        difference = abs(pi[numbers] - ours.pi).sum() + abs(np.delete(pi, numbers)).sum()
        busy = space.unnumbered(np.arange(space.size))[1] > 0
        print(
            f"{name} on {PETSc.COMM_WORLD.size} ranks: {space.size} states, "
            f"throughput {model.bottleneck_rate * pi[busy].sum():.6f} packets/s, "
            f"difference {difference:.1e}"
        )


if __name__ == "__main__":
    main()
