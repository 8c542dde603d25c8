"""Models and properties that other programs' files describe."""

from __future__ import annotations

from markov.files.errors import FileError
from markov.files.jani import read_jani
from markov.files.models import FileModel, PropertyResult, read_prism

__all__ = ["FileError", "FileModel", "PropertyResult", "read_jani", "read_prism"]
