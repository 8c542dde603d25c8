"""Write a certificate file as a Coq file that states, and proves by computation, that the checker accepts it.

``python proofs/coq/translate.py machine.cert.gz > Machine.v``, then ``coqc Machine.v`` beside the compiled proofs.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from markov.proofs.checker import Contents, Function, read

if TYPE_CHECKING:
    from collections.abc import Iterable
    from fractions import Fraction

HEAD = """Require Import ZArith NArith List.
Require Import Theory Checker.
Import ListNotations.
Open Scope Z_scope.
"""


def translated(found: Contents) -> str:
    """Return the Coq file of a certificate as read."""
    edges = [
        f"Edge {s}%N {target}%N ({rate})"
        for s, row in enumerate(found.rows)
        for target, rate in row
    ]
    columns = " ".join(_list(map(_number, each)) for each in (found.X, found.Y, found.H))
    numbers = f"({found.scale}) {found.reference}%N {_fraction(found.bound)}"
    parts = [
        HEAD,
        f"Definition certificate := Certificate\n{_list(edges)}\n{columns}\n{numbers}.\n",
        "Theorem accepted : check certificate = true.\nProof. vm_compute. reflexivity. Qed.\n",
    ]
    for k, each in enumerate(found.functions):
        parts.append(f"(* {k}: the claim about one function of the certificate *)")
        parts.append(f"Definition mean{k} := Mean {_mean(found, each)}.\n")
        parts.append(f"Theorem mean{k}_accepted : check_mean certificate mean{k} = true.")
        parts.append("Proof. vm_compute. reflexivity. Qed.\n")
    return "\n".join(parts)


def _mean(found: Contents, each: Function) -> str:
    lists = f"{_list(map(_number, each.F))} {_list(map(_number, each.G))}"
    scales = " ".join(f"({scale})" for scale in each.scales)
    ends = " ".join(map(_fraction, each.claimed))
    return f"{lists}\n{scales} {_fraction(found.unit)} {ends}"


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
