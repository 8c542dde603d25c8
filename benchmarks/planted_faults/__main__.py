"""``python -m benchmarks.planted_faults``: plant single faults, run the quick tests of their parts, list the survivors.

A fault changes one number, comparison, sign, product, bound of a range, minimum, ``not`` or ``and`` in a copy of the
tree. It is caught where a quick test fails: first the tests of the module run. Where none of them fails, reference
answers of the group are computed with and without the fault (`benchmarks.planted_faults.probes`). If they are equal,
the fault changed no answer. Otherwise the tests that mention the module's names run, those of the group, and all quick
tests of the part. A fault that they all miss has survived. The outcomes are kept in
``benchmarks/results/planted_faults.jsonl``; a later call goes on where the file ends, and ``planted_faults.md`` is the
table.
"""

from __future__ import annotations

import argparse
import signal
import sys
from pathlib import Path

from benchmarks.planted_faults.faults import relocated
from benchmarks.planted_faults.parts import PARTS, draw_fault, group_of
from benchmarks.planted_faults.reports import report
from benchmarks.planted_faults.runs import ROOT, Outcome, Tree
from benchmarks.records import RESULTS

RECORDED = RESULTS / "planted_faults.jsonl"
MOST_DRAWS = 20
"""Faults drawn for each that is asked for, at most: those that change no answer do not count."""


def main() -> int:
    """Run the command; exit status 1 when fewer than 95 of 100 faults were caught."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=100, help="faults that change an answer")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=sorted(PARTS), action="append", help="may be repeated")
    parser.add_argument("--list", action="store_true", help="only list the faults")
    parser.add_argument("--survivors", action="store_true", help="try recorded survivors again")
    parser.add_argument("--record", type=Path, default=RECORDED, help="file of outcomes")
    asked = parser.parse_args()
    parts = asked.part or sorted(PARTS)
    if asked.list:
        for n in range(asked.count):
            part = parts[n % len(parts)]
            print(draw_fault(ROOT, part, n // len(parts), asked.seed)[1])
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # the copy is removed then
    known = read(asked.record)
    with Tree.copied() as tree:
        known = try_again(tree, known, asked.record) if asked.survivors else plant(tree, known, parts, asked)
    print(report(known))
    if asked.record == RECORDED:
        RECORDED.with_suffix(".md").write_text(report(known), encoding="utf-8")
    counted = [each for each in known if each.result != "no answer changed"]
    caught = sum(each.result == "caught" for each in counted)
    return int(caught < 0.95 * len(counted))


def read(path: Path) -> list[Outcome]:
    """Return the outcomes that a file holds."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [Outcome.of_json(line) for line in lines]


def plant(tree: Tree, known: list[Outcome], parts: list[str], asked: argparse.Namespace) -> list[Outcome]:
    """Plant faults, the parts in turn, until enough of those recorded change an answer."""
    seen = {each.fault for each in known}
    for n in range(MOST_DRAWS * asked.count):
        counted = [each for each in known if each.result != "no answer changed"]
        if sum(part_of(each) in parts for each in counted) >= asked.count:
            break
        part = parts[n % len(parts)]
        group, fault = draw_fault(tree.root, part, n // len(parts), asked.seed)
        if fault in seen:
            continue
        outcome = tree.try_fault(group, part, fault)
        print(f"{outcome.result}: {fault} ({outcome.by})", flush=True)
        with asked.record.open("a", encoding="utf-8") as file:
            file.write(outcome.to_json() + "\n")
        known.append(outcome)
        seen.add(fault)
    return known


def try_again(tree: Tree, known: list[Outcome], record: Path) -> list[Outcome]:
    """Plant the survivors again, where their files still hold them, and rewrite the file of outcomes."""
    found = []
    for each in known:
        outcome = each
        if each.result == "survived":
            fault = relocated((tree.root / each.fault.path).read_text(encoding="utf-8"), each.fault)
            outcome = tree.try_fault(group_of(each.group), part_of(each), fault)
            print(f"{outcome.result}: {fault} ({outcome.by})", flush=True)
        found.append(outcome)
    record.write_text("".join(each.to_json() + "\n" for each in found), encoding="utf-8")
    return found


def part_of(outcome: Outcome) -> str:
    """Return the part of an outcome."""
    return next(part for part, groups in PARTS.items() if outcome.group in {g.name for g in groups})


if __name__ == "__main__":
    sys.exit(main())
