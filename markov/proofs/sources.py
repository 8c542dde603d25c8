"""Readers of files from which the rows of a certificate are derived, by the ending of the name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.jani_rows import JaniRows
from markov.proofs.list_rows import ExplicitRows, UmbRows
from markov.proofs.prism_rows import PrismRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markov.proofs.checker import Source
    from markov.proofs.model_rows import ModelRows

__all__ = ["LIST_READERS", "MODEL_READERS", "model_rows", "source_of"]

MODEL_READERS: dict[str, type[PrismRows | JaniRows]] = {
    ".prism": PrismRows, ".sm": PrismRows, ".pm": PrismRows, ".ctmc": PrismRows, ".jani": JaniRows,
}  # fmt: skip
"""Readers of models with constants, by the ending of the file."""
LIST_READERS: dict[str, type[ExplicitRows | UmbRows]] = {".tra": ExplicitRows, ".umb": UmbRows}
"""Readers of lists of transitions."""


def model_rows(path: str | Path, constants: Mapping[str, Any] | None = None) -> ModelRows:
    """Return the reader of a model file, PRISM or JANI, which derives its exact transitions.

    Raises
    ------
    ValueError
        For another ending of the file's name; CertificateError where the file is not read.
    """
    suffix = Path(path).suffix
    if suffix not in MODEL_READERS:
        raise ValueError(f"model = {str(path)!r}: must end in {', '.join(MODEL_READERS)}")
    return MODEL_READERS[suffix](path, constants)


def source_of(path: str | Path, constants: Mapping[str, Any] | None = None) -> Source:
    """Return the reader of a model file or of a list of transitions, with which a certificate's rows are compared."""
    suffix = Path(path).suffix
    if suffix in LIST_READERS:
        if constants:
            raise ValueError(f"const: {Path(path).name} has no constants: must not be given")
        return LIST_READERS[suffix](path)
    if suffix not in MODEL_READERS:
        raise ValueError(f"model = {str(path)!r}: must end in {', '.join([*MODEL_READERS, *LIST_READERS])}")
    return model_rows(path, constants)
