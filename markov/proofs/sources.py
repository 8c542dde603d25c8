"""Where the rows of a certificate are derived from, by the ending of the file's name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from markov.proofs.explicit_rows import ExplicitRows
from markov.proofs.jani_rows import JaniRows
from markov.proofs.prism_rows import PrismRows
from markov.proofs.umb_rows import UmbRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from markov.proofs.checker import Source
    from markov.proofs.model_rows import ModelRows

__all__ = ["LISTED", "MODELS", "model_rows", "source_of"]

MODELS: dict[str, type[PrismRows | JaniRows]] = {
    ".prism": PrismRows, ".sm": PrismRows, ".pm": PrismRows, ".ctmc": PrismRows, ".jani": JaniRows,
}  # fmt: skip
"""Readers of models, whose constants may have values, by the ending of the file."""
LISTED: dict[str, type[ExplicitRows | UmbRows]] = {".tra": ExplicitRows, ".umb": UmbRows}
"""Readers of lists of transitions."""


def model_rows(path: str | Path, constants: Mapping[str, Any] | None = None) -> ModelRows:
    """Return the commands of a model's file.

    Raises
    ------
    ValueError
        For another ending of the file's name; CertificateError where the file is not read.
    """
    suffix = Path(path).suffix
    if suffix not in MODELS:
        raise ValueError(f"model = {str(path)!r}: must end in {', '.join(MODELS)}")
    return MODELS[suffix](path, constants)


def source_of(path: str | Path, constants: Mapping[str, Any] | None = None) -> Source:
    """Return the rows of a model's file or of a list of transitions; errors are those of `model_rows`."""
    suffix = Path(path).suffix
    if suffix in LISTED:
        if constants:
            raise ValueError(f"const: {Path(path).name} has no constants: must not be given")
        return LISTED[suffix](path)
    if suffix not in MODELS:
        raise ValueError(f"model = {str(path)!r}: must end in {', '.join([*MODELS, *LISTED])}")
    return model_rows(path, constants)
