"""Rows of the report's page of the bundled simulations: how each case was made."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from validation.evidence import provenance

__all__ = ["record_of"]


@functools.cache
def record_of(case: str) -> dict[str, Any]:
    """Return the title of a case and its provenance, by the headings of the report's rows."""
    record = provenance(case)
    rows: Mapping[str, object] = {
        "Simulator": f"{record['tool']} {record['version']}",
        "Program": "; ".join(f"{name} ({_short(sha)})" for name, sha in record["programs"].items()),
        "First command": record["command"],
        "Parameters": "; ".join(
            f"{name} = {about['value']} {about['unit']}".strip()
            for name, about in record["parameters"].items()
        ),
        "Runs and seeds": f"{record['runs']} runs, seeds {record['seeds']}",
        "Time": f"{record['simulated_seconds']:g} s simulated, {record['cpu_seconds']:g} s of CPU",
        "Made on": record["date"],
        "Notes": " ".join(record["notes"]),
        "Files": "; ".join(
            f"{file} ({about['rows']} rows, {_short(about['sha256'])})"
            for file, about in record["files"].items()
        ),
    }
    return {"title": record["title"], "rows": rows}


def _short(sha: str) -> str:
    return f"SHA-256 {sha[:16]}…"
