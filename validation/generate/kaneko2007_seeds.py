"""kaneko2007's added delays in ns-3 with two more seeds than the case ``added-delay-ns3``."""

from __future__ import annotations

from dataclasses import replace

from validation.generate import kaneko2007
from validation.generate.kaneko2007 import FRIENDLY, SEEDS, added_delay, in_ns3

BASE = next(case for case in kaneko2007.CASES if case.name == "kaneko2007/added-delay-ns3")
CASES = (
    replace(
        BASE,
        name="kaneko2007/added-delay-seeds-ns3",
        title=f"{BASE.title}, two more seeds",
        runs=in_ns3(added_delay(FRIENDLY, (0.0, 0.08, 0.16), SEEDS[1:3]), 20.0, 140.0),
        sources=(*BASE.sources, "validation/generate/kaneko2007_seeds.py"),
        notes=(
            *(note for note in BASE.notes if not note.startswith("One seed")),
            "Seeds 2 and 3; seed 1 is the case added-delay-ns3.",
        ),
    ),
)
