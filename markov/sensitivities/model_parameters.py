"""The parameters of a model, or the constants of a file, by name, and single entries of them."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["entry_of", "is_real", "parameters_of"]


def parameters_of(model: Any) -> dict[str, Any]:
    """Return a model's parameters, or a file's constants, as a dict from names to values."""
    constants = getattr(model, "constants", None)
    if constants is not None:
        return dict(constants)
    fields = getattr(model.params, "_asdict", None)
    return dict(fields()) if fields is not None else {}


def entry_of(parameters: dict[str, Any], parameter: str) -> tuple[str, int | None, Any]:
    """Return the name of a parameter, the index of its entry (None without one), and its complete value."""
    match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", parameter)
    name, index = (match[1], match[2]) if match else (parameter, None)
    if name not in parameters:
        names = ", ".join(parameters) or "none"
        raise ValueError(f"parameter = {parameter!r}: must be one of {names}")
    value = parameters[name]
    if isinstance(value, (tuple, list)) and (index is None or int(index) >= len(value)):
        entries = ", ".join(f"{name}[{k}]" for k in range(len(value)))
        raise ValueError(f"parameter = {parameter!r}: must be one of {entries}")
    return name, None if index is None else int(index), value


def is_real(model: Any, name: str) -> bool:
    """Return whether a model declares the parameter as a float, so that the value 1 stands for 1.0."""
    declared = getattr(type(getattr(model, "params", None)), "__annotations__", {})
    return "float" in str(declared.get(name, ""))
