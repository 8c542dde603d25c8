"""A small answer by each kernel of this package that users meet first, which `hopflow.kernels.build` compiles."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

__all__ = ["short_calls"]


def short_calls() -> Mapping[str, Callable[[], Any]]:
    """Return calls of main functions by name, each of which compiles the kernels that users meet first."""
    from markov import (
        GaussSeidel,
        Kanban,
        Krylov,
        Levels,
        MatrixFree,
        Multilevel,
        PauseTandem,
        SparseLU,
        passage,
        stationary,
        transient,
    )  # fmt: skip

    pause = PauseTandem()
    large = PauseTandem(buffers=(200, 200), high_threshold=150)
    return {
        "of a small chain": partial(stationary, pause),  # compiled, now that Numba is loaded
        "of a chain that is found from its rules": partial(stationary, Kanban(2)),
        "of a chain of one's own": _solve_user_chain,
        "passage times": partial(passage, pause, "pause_fraction"),
        "transient distributions": partial(transient, pause, [1.0, 10.0]),
        "without a matrix": partial(stationary, large, MatrixFree()),
        **{
            f"by {type(method).__name__}": partial(stationary, pause, method)
            for method in (Multilevel(), SparseLU(), Krylov(preconditioner="multilevel"), GaussSeidel(), Levels())
        },
        "of a file": _solve_file_chain,
        "matrix exponentials": _multiply_matrices,
    }


def _solve_user_chain() -> None:
    """Solve a small chain from rules of a user."""
    from markov import explore, stationary

    def repairs(s: Any, q: Any) -> Iterator[tuple[Any, Any]]:
        if s.working > 0:
            yield s._replace(working=s.working - 1), q.failure * s.working
        if s.working < 3:
            yield s._replace(working=s.working + 1), q.repair

    stationary(explore(repairs, start={"working": 3}, params={"failure": 0.1, "repair": 1.0}))


def _multiply_matrices() -> None:
    """Multiply small matrices in double and triple precision, as matrix exponentials do."""
    import numpy as np

    from markov.time.squaring import product

    for words in (2, 3):
        product(np.ones((words, 2, 2)), np.ones((words, 2, 2)))


def _solve_file_chain() -> None:
    """Solve a chain of 12,004 states from a PRISM file."""
    from markov import read_prism, stationary

    text = """ctmc
    module queue
      x : [0..3000] init 0;
      y : [0..2] init 0;
      [] x<3000 -> 2.0 : (x'=x+1);
      [] x>0 -> 3.0 : (x'=x-1) & (y'=mod(y+1,3));
    endmodule
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "queue.prism")
        path.write_text(text, encoding="utf-8")
        stationary(read_prism(path))
