"""The table of planted faults, as Markdown."""

from __future__ import annotations

import tomllib
from collections import Counter
from pathlib import Path

from benchmarks.planted_faults.parts import PARTS
from benchmarks.planted_faults.runs import Outcome
from benchmarks.records import RESULTS

NOTES = RESULTS / "planted_faults.toml"
"""What would catch a survivor, by file, function and change."""
INTRODUCTION = """# Planted faults

Written by `python -m benchmarks.planted_faults`. Each fault is one change of one number, operator or name. *Caught*: a
quick test fails. *Survived*: none fails, and a reference answer is another one. *No answer changed*: no test of the
module fails, and the reference answers of the group stay the same (equivalent code, tolerances, messages); these do not
count.
"""


def report(found: list[Outcome], notes: Path = NOTES) -> str:
    """Return the table by group, and the list of survivors."""
    lines = [INTRODUCTION, "| part | group | caught | survived | no answer changed |"]
    lines.append("| --- | --- | --- | --- | --- |")
    total: Counter[str] = Counter()
    for part, groups in PARTS.items():
        for group in groups:
            counted = Counter(each.result for each in found if each.group == group.name)
            total += counted
            lines.append(f"| {part} | {group.name} | {_cells(counted)} |")
    lines.append(f"| all | | {_cells(total)} |")
    changed = total["caught"] + total["survived"]
    share = f", {total['caught'] / changed:.0%}" if changed else ""
    lines += ["", f"{total['caught']} of {changed} faults that change an answer are caught{share}."]
    survivors = [each for each in found if each.result == "survived"]
    if survivors:
        lines += ["", "## Survivors", ""]
        lines += [_survivor(each, _notes(notes)) for each in survivors]
    return "\n".join(lines) + "\n"


def _cells(counted: Counter[str]) -> str:
    return " | ".join(str(counted[kind]) for kind in ("caught", "survived", "no answer changed"))


def _notes(path: Path) -> dict[str, str]:
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def key_of(each: Outcome) -> str:
    """Return the name under which `NOTES` holds what would catch a fault; lines may move."""
    fault = each.fault
    return f"{fault.path} {fault.function}: {fault.before} -> {fault.after}"


def _survivor(each: Outcome, notes: dict[str, str]) -> str:
    caught_by = notes.get(key_of(each), f"compare {each.by} with a source")
    return f"- `{each.fault}`. Would be caught by: {caught_by}."
