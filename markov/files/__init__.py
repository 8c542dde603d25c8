"""Models and properties that other programs' files describe."""

from __future__ import annotations

from markov.files.explicit import (
    ExplicitModel,
    from_networkx,
    read_explicit,
    to_networkx,
    write_explicit,
)
from markov.files.language import FileError
from markov.files.models import FileModel, read_jani, read_prism
from markov.files.properties import PropertyResult
from markov.files.sbml import read_sbml

__all__ = [
    "ExplicitModel",
    "FileError",
    "FileModel",
    "PropertyResult",
    "from_networkx",
    "read_explicit",
    "read_jani",
    "read_prism",
    "read_sbml",
    "to_networkx",
    "write_explicit",
]
