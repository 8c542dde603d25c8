"""Names of a file's variables as fields of a NamedTuple."""

from __future__ import annotations

import keyword
import re

__all__ = ["field_names"]


def field_names(names: list[str]) -> list[str]:
    """Return distinct field names of a NamedTuple for the names of variables."""
    fields: list[str] = []
    for name in names:
        field = re.sub(r"\W", "_", name)
        if not field.isidentifier() or field.startswith("_") or keyword.iskeyword(field):
            field = f"v{field}"
        while field in fields:
            field += "_"
        fields.append(field)
    return fields
