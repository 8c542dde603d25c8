"""Lists of a certificate: names of the states, functions of them, and the exact rates of the model's file."""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import hopflow
from markov.models.measures import chosen, functionals
from markov.proofs.certificate_writing import Rates
from markov.proofs.checker import CertificateError
from markov.proofs.sources import model_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import scipy.sparse as sp
    from numpy.typing import NDArray

    from markov.proofs.model_rows import ModelRows

    Vector = NDArray[np.float64]

__all__ = ["Listing", "describe_model_file", "exact_rates", "functions_of", "listing_of"]


@dataclass(frozen=True)
class Listing:
    """The part of a certificate about states that is not proved.

    Attributes
    ----------
    columns
        Whole numbers of shape (n,) that name the states, by the name of the variable.
    functions
        Functions of the state, shape (n,), whose means are to be proved, by name.
    information
        Text by key, repeated by the checker without a check.
    rates
        Exact rates of the entries off the diagonal of Q; None: the rates of Q.
    """

    columns: Mapping[str, NDArray[np.int64]]
    functions: Mapping[str, Vector] = field(default_factory=dict)
    information: Mapping[str, str] = field(default_factory=dict)
    rates: Rates | None = None


def listing_of(
    chain: Any,
    states: NDArray[np.int64],
    Q: sp.csr_matrix,
    measures: Sequence[str] | Mapping[str, Any] | None,
    model: str | Path | None,
    constants: Mapping[str, Any] | None,
) -> Listing:
    """Return the listing of states of a chain.

    Parameters
    ----------
    states, Q
        Their numbers, and the generator on them.
    measures
        As for `functions_of`.
    model, constants
        The chain's file, which has the exact rates, and its constants; None: the rates of Q.

    Raises
    ------
    CertificateError
        Where the file has other transitions.
    """
    columns = chain.components_of(states) or {"state": states}
    source = getattr(chain.model, "source", None)
    if source is not None:
        names = (r.name for r in source.state_space.instance.ranges)
        columns = dict(zip(names, columns.values(), strict=True))
    information, rates = {"made-by": f"hopflow {hopflow.__version__}"}, None
    if model is not None:
        information |= describe_model_file(model, constants or {})
        rates = exact_rates(model_rows(model, constants), columns, Q)
    return Listing(columns, functions_of(chain, states, measures), information, rates)


def functions_of(
    chain: Any, states: NDArray[np.int64], measures: Sequence[str] | Mapping[str, Any] | None
) -> dict[str, Vector]:
    """Return functions in ``states`` by name; None: all labels and rewards of one number per state."""
    if measures is None:
        by_name = {} if chain.model is None else functionals(chain.model, chain.table)
        measures = [name for name, f in by_name.items() if f.over is None and np.ndim(f.of) == 1]
    functions = {}
    named = measures if isinstance(measures, Mapping) else {name: name for name in measures}
    for name, measure in named.items():
        mean = chosen(measure, chain.model, chain.table, states)
        if mean.over is not None or mean.of.ndim != 1:
            requirement = "must be one number for each state, no ratio and no vector"
            raise ValueError(f"measures = {name!r}: {requirement}")
        functions[" ".join(name.split())] = mean.of
    return functions


def describe_model_file(path: str | Path, constants: Mapping[str, Any]) -> dict[str, str]:
    """Return the metadata of a model's file, for readers."""
    path = Path(path)
    information = {"model": path.name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    text = ",".join(f"{name}={value}" for name, value in constants.items())
    return information | ({"constants": text} if text else {})


def exact_rates(source: ModelRows, columns: Mapping[str, NDArray[np.int64]], Q: sp.csr_matrix) -> Rates:
    """Return the exact rates of a file's commands for the entries off the diagonal of Q.

    Raises
    ------
    CertificateError
        Where the file has other transitions.
    """
    numbers_of = source.numbers_of_states(columns, zip(*(c.tolist() for c in columns.values()), strict=True))
    numbers: dict[tuple[int, int], int] = {}
    indices = array("q")
    for (values, s), derived in zip(numbers_of.items(), source.rows(numbers_of), strict=True):
        targets = [t for t in Q.indices[Q.indptr[s] : Q.indptr[s + 1]].tolist() if t != s]
        if len(targets) != len(derived) or not all(t in derived for t in targets):
            state = dict(zip(source.ranges, values, strict=True))
            raise CertificateError(f"{source.name}: has other transitions out of {state}")
        for target in targets:
            key = derived[target].as_integer_ratio()
            indices.append(numbers.setdefault(key, len(numbers)))
    return Rates([Fraction(*key) for key in numbers], np.array(indices, dtype=np.int64))
