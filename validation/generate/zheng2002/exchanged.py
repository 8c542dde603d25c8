"""TCP(a,b) with a and b exchanged beside TCP and TFRC (zheng2002, Sects. 3.6 and 3.7), by ns-2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from validation.generate.cases import Run
from validation.generate.zheng2002.dumbbell import EXCHANGED, make
from validation.generate.zheng2002.dumbbell_cases import (
    FIVE,
    FRIENDLY_FACTORS,
    MANY,
    MILD,
    PAIRS,
    SOME,
    TEN,
    TFRC,
    WIDE,
    case,
    together,
)

CHANGED = tuple(pair for pair in PAIRS if pair[0] != TFRC)
NOTE = (
    "TCP(1/5,1/8) has a = 1/8 and b = 1/5 here, TCP(3/7,1/4) a = 1/4 and b = 3/7: the caption of the "
    "paper's Fig. 7 names the first so. The factor of the window that is kept is 1-b."
)


def growing(numbers: Sequence[int], options: Mapping[str, float | str] | None = None) -> list[Run]:
    """List the runs of Figs. 10 to 13."""
    return [
        make(
            {"pair": together(pair), "reading": EXCHANGED, "number": number},
            [(kind, number) for kind in pair],
            seed,
            reading=EXCHANGED,
            options=options,
        )
        for pair in CHANGED
        if pair[0] == MILD
        for number in numbers
        for seed in FIVE
    ]


CASES = [
    case(
        "exchanged-8x8",
        "8 + 8 flows of two kinds on 15 Mb/s, a and b exchanged (Figs. 6 to 8)",
        ("Z06", "Z07", "Z08", "Z09"),
        {key: FRIENDLY_FACTORS[key] for key in ("pair", "reading", "number")},
        [
            make(
                {"pair": together(pair), "reading": EXCHANGED, "number": 8},
                [(kind, 8) for kind in pair],
                seed,
                reading=EXCHANGED,
            )
            for pair in CHANGED
            for seed in TEN
        ],
        notes=(NOTE,),
    ),
    case(
        "exchanged-15",
        "1 + 1 to 64 + 64 flows of two kinds on 15 Mb/s, a and b exchanged (Figs. 10 and 12)",
        ("Z11", "Z12"),
        FRIENDLY_FACTORS,
        growing(MANY),
        notes=(NOTE,),
    ),
    case(
        "exchanged-60",
        "4 + 4 to 64 + 64 flows of two kinds on 60 Mb/s, a and b exchanged (Figs. 11 and 13)",
        ("Z11", "Z12"),
        FRIENDLY_FACTORS,
        growing(SOME, {**WIDE, "duration": 60.0}),
        {
            "trunk rate": (60e6, "bit/s"),
            "thresh_, maxthresh_": ("120, 360", "packets"),
            "limit_": (720, "packets (drops what finds 719 waiting)"),
            "measured": ("20 to 60", "s"),
        },
        notes=(NOTE,),
    ),
]
