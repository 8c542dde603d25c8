"""Records of tests: a ``.json`` file beside a test, of its name, which `make generated` writes."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


@functools.cache
def read_record(test: str) -> dict[str, Any]:
    """Return the record of a test, given by its ``__file__``; it is read once."""
    answers: dict[str, Any] = json.loads(Path(test).with_suffix(".json").read_text(encoding="utf-8"))
    return answers


def write_record(test: str, answers: Mapping[str, Any]) -> None:
    """Write a record with a line for each answer, or for each text of a list of texts, so that differences can be read."""
    entries = []
    for name, answer in answers.items():
        texts = isinstance(answer, list) and isinstance(answer[0], str)
        entries.append(f"{json.dumps(name)}: {json.dumps(answer, indent=0 if texts else None, ensure_ascii=False)}")
    Path(test).with_suffix(".json").write_text("{\n" + ",\n".join(entries) + "\n}\n", encoding="utf-8")
