"""Few TCP flows over one queue under RED in ns-2: throughput and losses, for the packet level.

Link, RED and senders are those of zheng2002's flows of one kind, of which there are at least ten.
"""

from __future__ import annotations

from dataclasses import replace

from validation.generate.zheng2002.dumbbell import TABLES
from validation.generate.zheng2002.dumbbell_cases import CASES as DUMBBELLS
from validation.generate.zheng2002.dumbbell_cases import a_run

FLOWS = (2, 4, 8, 16, 32)
SEEDS = range(1, 9)
ONE_KIND = next(case for case in DUMBBELLS if case.name == "zheng2002/flows-one-kind")
CASES = (
    replace(
        ONE_KIND,
        name="packets/red-dumbbells-ns2",
        title="2 to 32 TCP flows over a queue under RED on 15 Mb/s, 8 seeds",
        claims=(),
        runs=[
            a_run({}, {"rule": "TCP(1,1/2)", "reading": "1-b", "number": number}, seed)
            for number in FLOWS
            for seed in SEEDS
        ],
        notes=tuple(TABLES["notes"]),
    ),
)
