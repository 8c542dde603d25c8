"""Write a certificate file as a Coq file that states, and proves by computation, that the checker accepts it.

``python proofs/coq/translate.py machine.cert.gz > Machine.v``, then ``coqc Machine.v`` beside the compiled proofs.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markov.proofs.checker import LONG_RUN, Contents, Function, read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

HEAD = """Require Import ZArith List.
Require Import Theory Checker.
Import ListNotations.
Open Scope Z_scope.
"""


def translated(found: Contents) -> str:
    """Return the Coq file of a certificate as read."""
    rows = [_list(f"Transition {target + 1} ({rate})" for target, rate in row) for row in found.rows]
    columns = " ".join(_list(map(_number, each)) for each in (found.X, found.Y, found.H))
    numbers = f"{_fraction(found.unit)} ({found.scale}) {found.reference + 1} {_fraction(found.bound)}"
    if found.schema == LONG_RUN:
        kind, means = "long_run_mean", map(_long_run_mean, found.functions)
        said = "forallb (check_long_run certificate) means"
    else:
        kind, means, said = "mean", map(_mean, found.functions), "accepts certificate means"
    parts = [
        HEAD,
        f"Definition certificate := Certificate\n{_list(rows)}\n{columns}\n{numbers}.\n",
        f"Definition means : list {kind} := {_list(means)}.\n",
        f"Theorem accepted : {said} = true.\nProof. vm_compute. reflexivity. Qed.\n",
    ]
    return "\n".join(parts)


def _long_run_mean(each: Function) -> str:
    lists = f"{_list(map(_number, each.U))} {_list(map(_number, each.E))}"
    return f"LongRunMean ({_mean(each)})\n{lists} ({each.u_scale})"


def _mean(each: Function) -> str:
    lists = f"{_list(map(_number, each.F))} {_list(map(_number, each.G))}"
    scales = " ".join(f"({scale})" for scale in each.scales)
    ends = " ".join(map(_fraction, each.claimed))
    return f"Mean {lists}\n{scales} {ends}"


def _list(items: Iterable[str]) -> str:
    return "[" + "; ".join(items) + "]"


def _number(value: int) -> str:
    return f"({value})"


def _fraction(value: Fraction) -> str:
    return f"({value.numerator}) ({value.denominator})"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as opened:
        sys.stdout.write(translated(read(opened)))
