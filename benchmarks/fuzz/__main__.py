"""``python -m benchmarks.fuzz``: the fuzz as a program; exit status 1 when a call is at fault."""

from __future__ import annotations

import argparse
import sys

from benchmarks.fuzz.runs import fuzz_apart, plan, work


def main() -> int:
    """Run the fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=12_000, help="how many calls at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="functions whose name has this in it")
    parser.add_argument(
        "--limit",
        type=float,
        default=120.0,
        help="seconds that a call may take, compilation included",
    )
    parser.add_argument(
        "--from", dest="start", type=int, help="make the calls in this process, from"
    )
    asked = parser.parse_args()
    if asked.start is not None:
        work(plan(asked.seed, asked.only)[asked.start : asked.calls])
        return 0
    found = fuzz_apart(asked.calls, asked.seed, asked.only, asked.limit)
    print(found)
    return 1 if found.faults else 0


if __name__ == "__main__":
    sys.exit(main())
