"""Kinetic proofreading: fewer errors than equilibrium allows.

A ribosome binds the right codon or a wrong one, which falls off faster by a factor 1/f.
Discriminating once, it makes errors with frequency f. Hopfield's idea: after binding,
spend energy on an irreversible step, and let wrong codons fall off a second time. The
error can then be as small as f^2.

Field: chemistry.
Source: J. J. Hopfield, Kinetic proofreading: a new mechanism for reducing errors in
biosynthetic processes requiring high specificity, Proceedings of the National Academy of
Sciences 71(10), 1974; J. Ninio, Biochimie 57, 1975.
"""

from __future__ import annotations

import math

from markov import explore, stationary

RATES = {"bind": 1.0, "off": {"right": 1.0, "wrong": 100.0}, "mark": 1.0, "work": 1.0}


def rules(state, q):
    """States: "free", and (codon, stage) of the complex."""
    if state == "free":
        for codon in ("right", "wrong"):
            yield (codon, "bound"), q["bind"]
        return
    codon, stage = state
    yield "free", q["off"][codon]
    if stage == "bound":
        yield (codon, "marked"), q["mark"]
    else:
        yield "free", q["work"]  # built into the protein


def error(q):
    found = explore(rules, start="free", params=q)
    answer = stationary(found)
    wrong, right = (answer.probability((codon, "marked")) for codon in ("wrong", "right"))
    return wrong / right


def exact(q):
    """Each of the two stages passes a wrong codon on less often than a right one."""
    right, wrong = q["off"]["right"], q["off"]["wrong"]
    stage = lambda speed: (right + speed) / (wrong + speed)
    return stage(q["mark"]) * stage(q["work"])


for speed in (100.0, 1.0, 0.01):
    q = {**RATES, "mark": speed, "work": speed}
    print(f"speed {speed:6}: one wrong amino acid in {1 / error(q):6.0f}")
    assert math.isclose(error(q), exact(q), rel_tol=1e-13)  # five states
print("check: the product of both stages' errors; slow work comes close to 1 in 100^2")
