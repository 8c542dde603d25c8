"""The parameters of a model, or the constants of a file, by name, and single entries of them."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["entry_of", "is_real", "parameters_of"]


def parameters_of(model: Any) -> dict[str, Any]:
    """Return a model's parameters, or a file's constants, by name."""
    constants = getattr(model, "constants", None)
    if constants is not None:
        return dict(constants)
    fields = getattr(model.params, "_asdict", None)
    return dict(fields()) if fields is not None else {}


def entry_of(known: dict[str, Any], parameter: str) -> tuple[str, int | None, Any]:
    """Return the name of a parameter, the number of its entry, and its whole value."""
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", parameter)
    name, index = (match[1], match[2]) if match else (parameter, None)
    if name not in known:
        names = ", ".join(known) or "none"
        raise ValueError(f"parameter = {parameter!r}: must be one of {names}")
    whole = known[name]
    if isinstance(whole, (tuple, list)) and (index is None or int(index) >= len(whole)):
        entries = ", ".join(f"{name}[{k}]" for k in range(len(whole)))
        raise ValueError(f"parameter = {parameter!r}: must be one of {entries}")
    return name, None if index is None else int(index), whole


def is_real(model: Any, name: str) -> bool:
    """Whether a model declares a parameter as a real number, so that 1 stands for 1.0."""
    declared = getattr(type(getattr(model, "params", None)), "__annotations__", {})
    return "float" in str(declared.get(name, ""))
