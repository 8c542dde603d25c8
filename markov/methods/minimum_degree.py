"""An order of minimum degree, found where it can be stopped."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["minimum_degree_order"]

DROP_ALL: dict[str, Any] = {
    "drop_tol": 1.0,
    "fill_factor": 1.0,
    "diag_pivot_thresh": 0.0,
    "permc_spec": "MMD_AT_PLUS_A",
    "options": {"SymmetricMode": True},
}
SHORT = 1.0  # s: more than it takes to start a process
SCRIPT = f"""
import io, sys
import numpy as np
from scipy.sparse import csc_matrix
from scipy.sparse.linalg import spilu
matrix = csc_matrix(tuple(np.load(io.BytesIO(sys.stdin.buffer.read())).values()))
np.save(sys.stdout.buffer, spilu(matrix, **{DROP_ALL!r}).perm_c)
"""


def minimum_degree_order(matrix: sp.csc_matrix, seconds: float, patience: float) -> NDArray[np.int64] | None:
    """Return the place of each row in SuperLU's order of minimum degree, shape (n,).

    SuperLU tells its order only with factors, and an incomplete factorization that drops everything is
    made in no time. While it looks for an order neither Ctrl-C nor any other thread is heard. Where that
    might be long a process of its own does it, which ends with Ctrl-C or when patience is over.

    Parameters
    ----------
    matrix
        Shape (n, n), with entries on the diagonal.
    seconds
        How long it may take.
    patience
        How long it is waited for at least, in s.

    Returns
    -------
    array or None
        None when it took too long.
    """
    if seconds > SHORT and sys.executable:
        packed = io.BytesIO()
        np.savez(packed, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr)
        command = [sys.executable, "-c", SCRIPT]
        try:
            done = subprocess.run(
                command,
                check=True,
                input=packed.getvalue(),
                capture_output=True,
                timeout=max(patience, SHORT),
            )
            return np.asarray(np.load(io.BytesIO(done.stdout)), dtype=np.int64)
        except subprocess.TimeoutExpired:
            return None
        except (subprocess.CalledProcessError, OSError, ValueError):
            pass  # no such process here: the order, and so the method, must not depend on that
    from scipy.sparse.linalg import spilu

    return np.asarray(spilu(matrix, **DROP_ALL).perm_c, dtype=np.int64)
