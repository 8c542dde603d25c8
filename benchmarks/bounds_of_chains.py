"""What bounds the figures of chains in the table of daily use, and what was tried, by the beginning of a row's name."""

from __future__ import annotations

__all__ = ["BOUNDS_OF_CHAINS"]

FIXED = (
    "fixed costs, 2,400 to 4,000 function calls: a queue of 71 states takes 1.5 ms where this one takes 2 to 2.5. Of the pause chain "
    "40 % are rules on arrays, compared with plain Python, the rest solution and proof, of which kernels take a tenth. Remembered "
    "spaces and signatures and long tables seen at once: 13.0 to 12.1 million instructions; sums by `math.fsum` and switching "
    "garbage collection off gained nothing"
)
BOUNDS_OF_CHAINS: dict[str, str] = {
    "pause chain, by NumPy": (
        "elimination and substitution state by state in NumPy, four fifths of the time, until they have taken as long as loading "
        "Numba does (1 s)"
    ),
    "pause chain": FIXED,
    "tandem of two queues": FIXED,
    "tandem with Coxian service": (
        "elimination with band 63 and its proof. The order is turned so that a likely state is left: the proof by factors holds "
        "then, which multigrid had to give (50 million instructions before, 34 now)"
    ),
    "birth-death chain": FIXED,
    "kanban, its states searched for again": (
        "29 rounds of a breadth-first search at 1.3 ms each: 600 operations of translated rules on 160 states. Compiled rules take "
        "9 ms, after seconds of compilation; the whole space has 531,441 states"
    ),
    "kanban": (
        "25 multigrid cycles and their levels take half, rules on arrays a third, the proof an eighth. States are taken from the "
        "chain before, where all transitions say that they are still those that the start leads to (510 million instructions "
        "before, 183 now)"
    ),
    "polling": "multigrid and its proof, three quarters; elimination is predicted to take 0.14 s",
    "cluster": "multigrid and its proof, half; elimination is predicted to take 0.41 s",
    "mean passage": (
        "two solutions by multigrid, one of them for weights that prove the other, on levels found without components. The variance, "
        "a quarter of the time, is computed when it is read"
    ),
}
