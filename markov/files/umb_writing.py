"""Chains as files in the unified Markov binary format (UMB): see `markov.files.umb_reading`."""

from __future__ import annotations

import gzip
import io
import json
import math
import re
import tarfile
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

import hopflow
from hopflow.whole_files import replacing
from markov.computing.matrices import off_diagonal
from markov.files.listed import ListedChain
from markov.files.umb_reading import CHAIN, MAX_VALUE_BITS
from markov.models.functions import values_of
from markov.models.measures import functionals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from markov.chains import MarkovChain


__all__ = ["write_umb"]

MAX_KEY_LENGTH = 60  # of a label or reward, which is part of names of files; its alias is the whole name


def write_umb(chain: MarkovChain, path: Path, *, exact: bool) -> None:
    """Write a chain: probabilities and exit rates as doubles, or as rationals that give back the rates exactly.

    Absorbing states return to themselves at rate 1, as in the files of PRISM: each choice has a branch.
    """
    rates = sp.csr_matrix(off_diagonal(chain.Q))
    absorbing = np.diff(rates.indptr) == 0
    rates = sp.csr_matrix(rates + sp.diags(absorbing.astype(np.float64)))
    rates.eliminate_zeros()
    kinds, files = (_rational_files if exact else _float_files)(rates)
    files["choice-to-branches.bin"] = rates.indptr.astype("<u8").tobytes()
    files["branch-to-target.bin"] = rates.indices.astype("<u8").tobytes()
    initial = _initial(chain)
    if initial.any():
        files["state-is-initial.bin"] = _bits(initial)
    annotations = _annotations(chain, files)
    index: dict[str, Any] = {
        "format-version": 1,
        "format-revision": 0,
        "file-data": {"tool": "hopflow", "tool-version": hopflow.__version__},
        "transition-system": {
            **CHAIN, "#states": chain.size, "#initial-states": int(initial.sum()),
            "#choices": chain.size, "#choice-actions": 0, "#branches": rates.nnz, "#branch-actions": 0,
            "exit-rate-type": kinds[0], "branch-probability-type": kinds[1],
        },
        "annotations": annotations,
    }  # fmt: skip
    described = _valuations(chain)
    if described is not None:
        index["valuations"] = {"states": {"unique": True, "classes": [{"variables": described[0]}]}}
        files["valuations/states/valuations.bin"] = described[1]
    _save(path, {"index.json": json.dumps(index, indent=1).encode()} | files)


def _initial(chain: MarkovChain) -> NDArray[np.bool_]:
    """Return whether the chain may start in each state, shape (states,); nowhere without a start of the model."""
    if isinstance(chain.model, ListedChain):
        return chain.model.initial
    start = None if chain.model is None else chain.model.start()
    return np.zeros(chain.size, dtype=bool) if start is None else np.arange(chain.size) == chain.number_of(start)


def _annotations(chain: MarkovChain, files: dict[str, bytes]) -> dict[str, Any]:
    """Return the index of the model's labels and rewards, and add their files; ratios of means are omitted."""
    index: dict[str, Any] = {}
    model = chain.model
    if model is None:
        return index
    function = model.function_of_state("labels", q := model.symbols())
    labels = values_of(function, q, chain.table.part(slice(0, 1)), model.name)
    for name, mean in functionals(model, chain.table).items():
        if mean.over is not None or mean.of.ndim != 1:
            continue
        of, truths = mean.of, name in labels and bool(np.isin(mean.of, (0.0, 1.0)).all())
        group, kind = ("aps", {"type": "bool", "size": 1}) if truths else ("rewards", {"type": "double", "size": 64})
        about = index.setdefault(group, {})
        key = re.sub("[^0-9a-z_-]", "-", name.lower())[:MAX_KEY_LENGTH] or "-"
        while key in about:
            key += "-"
        about[key] = {"alias": name, "applies-to": ["states"], "type": kind}
        data = _bits(of != 0.0) if truths else of.astype("<f8").tobytes()
        files[f"annotations/{group}/{key}/states/values.bin"] = data
    return index


def _float_files(rates: sp.csr_matrix) -> tuple[list[Any], dict[str, bytes]]:
    """Return types and files of exit rates and probabilities in float64."""
    exits = np.asarray(rates.sum(axis=1)).ravel()
    probabilities = rates.data / np.repeat(exits, np.diff(rates.indptr))
    return [{"type": "double", "size": 64}] * 2, {
        "state-to-exit-rate.bin": exits.astype("<f8").tobytes(),
        "branch-to-probability.bin": probabilities.astype("<f8").tobytes(),
    }


def _rational_files(rates: sp.csr_matrix) -> tuple[list[Any], dict[str, bytes]]:
    """Return types and files of exit rates and probabilities as fractions."""
    exits, probabilities = list[Fraction](), list[Fraction]()
    for s in range(rates.shape[0]):
        row = [Fraction(v) for v in rates.data[rates.indptr[s] : rates.indptr[s + 1]].tolist()]
        exits.append(sum(row, Fraction(0)))
        probabilities += [rate / exits[-1] for rate in row]
    (first, exit_bytes), (second, shares) = _rationals(exits), _rationals(probabilities)
    return [{"type": "rational", "size": size} for size in (first, second)], {
        "state-to-exit-rate.bin": exit_bytes,
        "branch-to-probability.bin": shares,
    }


def _rationals(values: list[Fraction]) -> tuple[int, bytes]:
    """Return the size of a rational in bits, a multiple of 128, and the bytes of numerators and denominators."""
    longest = max((max(v.numerator.bit_length() + 1, v.denominator.bit_length()) for v in values), default=1)
    half = 8 * math.ceil(longest / 64)
    parts = (v.numerator.to_bytes(half, "little", signed=True) + v.denominator.to_bytes(half, "little") for v in values)
    return 16 * half, b"".join(parts)


def _bits(truths: NDArray[np.bool_]) -> bytes:
    """Return truth values as bits of words of 64 bits."""
    data = np.packbits(truths, bitorder="little").tobytes()
    return data.ljust(-(-len(truths) // 64) * 8, b"\0")


def _valuations(chain: MarkovChain) -> tuple[list[dict[str, Any]], bytes] | None:
    """Return the description of the variables, and their values; None for values of other types."""
    space, codes = chain.space, chain.components
    if space is None or codes is None or list(space.fields) == ["state"]:
        return None
    variables, bits = list[dict[str, Any]](), []
    for component, code in zip(space.components, codes.values(), strict=True):
        component_values, values = component.values, code
        if not isinstance(component_values, range):
            kinds = {type(value) for value in component_values}
            if kinds not in ({bool}, {int}) or max(map(abs, component_values)) >= 2**MAX_VALUE_BITS:
                return None
            values = np.array(component_values, dtype=np.int64)[code]
        truths = type(component_values[0]) is bool
        low, high = int(values.min()), int(values.max())
        kind = "bool" if truths else "int" if low < 0 else "uint"
        size = max(1, high.bit_length(), (~low).bit_length() if low < 0 else 0) + (low < 0)
        if size > MAX_VALUE_BITS:
            return None
        variables.append({"name": component.name, "type": {"type": kind, "size": size}})
        bits.append((values[:, None] >> np.arange(size)) & 1)
    padding = -sum(part.shape[1] for part in bits) % 8
    if padding:
        variables.append({"padding": padding})
    packed = np.packbits(np.hstack(bits).astype(np.uint8), axis=1, bitorder="little")
    return variables, packed.tobytes()


def _save(path: Path, files: Mapping[str, bytes]) -> None:
    """Write a compressed archive, the same bytes for the same files."""
    with (
        replacing(path) as scratch,
        scratch.open("wb") as raw,
        gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
