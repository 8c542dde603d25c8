"""``python -m benchmarks.fuzz``: the fuzz as a program; exit status 1 when a call or a pair of answers is at fault."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from benchmarks.fuzz.contradictions import Question, questions
from benchmarks.fuzz.runs import Call, fuzz_apart, plan, work


def arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=12_000, help="how many calls at most")
    parser.add_argument("--questions", type=int, default=1_000, help="how many questions to ask in two ways")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="functions, or pairs, whose name has this in it")
    parser.add_argument(
        "--limit",
        type=float,
        default=120.0,
        help="seconds that a call may take, compilation included",
    )
    parser.add_argument("--from", dest="start", type=int, help="make the calls in this process, from")
    return parser.parse_args(given)


def tasks(asked: argparse.Namespace) -> list[Call | Question]:
    """Return the calls, then the questions."""
    calls = plan(asked.seed, asked.only)[: asked.calls]
    return [*calls, *questions(asked.questions, asked.seed, asked.only)]


def main() -> int:
    """Run the fuzz."""
    asked = arguments()
    if asked.start is not None:
        work(tasks(asked)[asked.start :])
        return 0
    found = fuzz_apart(tasks(asked), sys.argv[1:], asked.limit)
    print(found)
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
