"""Few TCP flows over one queue under RED in ns-2: throughput and losses, for the packet level.

Link, RED and senders are those of zheng2002's flows of one kind, of which there are at least ten.
"""

from __future__ import annotations

from dataclasses import replace

from validation.generate.zheng2002.dumbbell import make
from validation.generate.zheng2002.dumbbell_cases import ONE_KIND, TCP

FLOWS = (2, 4, 8, 16, 32)
SEEDS = range(1, 9)
CASES = (
    replace(
        ONE_KIND,
        name="packets/red-dumbbells-ns2",
        title="2 to 32 TCP flows over a queue under RED on 15 Mb/s, 8 seeds",
        claims=(),
        runs=[
            make(
                {"rule": TCP, "reading": "1-b", "number": number},
                [(TCP, number)], seed, reading="1-b", options={"background": 0},
            )
            for number in FLOWS
            for seed in SEEDS
        ],
        notes=ONE_KIND.notes[:-1],
    ),
)  # fmt: skip
