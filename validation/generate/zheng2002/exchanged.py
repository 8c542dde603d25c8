"""TCP(a,b) with a and b exchanged beside TCP and TFRC (zheng2002, Sects. 3.6 and 3.7), by ns-2."""

from __future__ import annotations

from validation.generate.cases import Heading
from validation.generate.zheng2002.dumbbell import EXCHANGED
from validation.generate.zheng2002.dumbbell_cases import (
    ALL_NUMBERS,
    FRIENDLY_FACTORS,
    MILD,
    PAIRS,
    PARAMETERS_60,
    SOME_NUMBERS,
    TEN,
    TFRC,
    WIDE,
    case,
    friendliness,
)

EXCHANGES = tuple((pair, EXCHANGED) for pair in PAIRS if pair[0] != TFRC)
GROWING = tuple((pair, reading) for pair, reading in EXCHANGES if pair[0] == MILD)
"""Those of Figs. 10 to 13."""
NOTE = (
    "TCP(1/5,1/8) has a = 1/8 and b = 1/5 here, TCP(3/7,1/4) a = 1/4 and b = 3/7: the caption of the "
    "paper's Fig. 7 names the first so. The factor of the window that is kept is 1-b."
)


CASES = [
    case(
        Heading(
            "exchanged-8x8",
            "8 + 8 flows of two kinds on 15 Mb/s, a and b exchanged (Figs. 6 to 8)",
            ("Z06", "Z07", "Z08", "Z09"),
        ),
        FRIENDLY_FACTORS,
        friendliness((8,), chosen=EXCHANGES, seeds=TEN),
        notes=(NOTE,),
    ),
    case(
        Heading(
            "exchanged-15",
            "1 + 1 to 64 + 64 flows of two kinds on 15 Mb/s, a and b exchanged (Figs. 10 and 12)",
            ("Z11", "Z12"),
        ),
        FRIENDLY_FACTORS,
        friendliness(ALL_NUMBERS, chosen=GROWING),
        notes=(NOTE,),
    ),
    case(
        Heading(
            "exchanged-60",
            "4 + 4 to 64 + 64 flows of two kinds on 60 Mb/s, a and b exchanged (Figs. 11 and 13)",
            ("Z11", "Z12"),
        ),
        FRIENDLY_FACTORS,
        friendliness(SOME_NUMBERS, {**WIDE, "duration": 60.0}, GROWING),
        PARAMETERS_60,
        notes=(NOTE,),
    ),
]
