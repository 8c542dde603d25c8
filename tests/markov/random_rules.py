"""Random expressions over the components of a state, for tests that compare ways of running rules."""

from __future__ import annotations

import random

__all__ = ["expression", "rate_of"]

LEAVES = [
    "s.n", "s.m", "s.n", "s.m", "q.a", "q.b", "q.k", "0", "1", "2", "3", "7", "-1", "0.5", "1.5", "-2.5",
]  # fmt: skip
LEAVES += ["37", "1e-9", "1e300", "True", "q.table[s.n % 2]", "q.table[s.m - 2]", "CONSTANT"]
BINARY = [
    "{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}", "max({}, {})", "min({}, {})",
]  # fmt: skip
BINARY += [
    "{} + {}",
    "{} - {}",
    "{} * {}",
    "{} ** {}",
    "pow({}, {})",
    "math.pow({}, {})",
    "math.fmod({}, {})",
]
BINARY += [
    "math.hypot({}, {})",
    "{} & {}",
    "{} | {}",
    "{} ^ {}",
    "{} << {}",
    "{} >> {}",
    "divmod({}, {})[0]",
]
BINARY += [
    "math.comb({}, {})",
    "halved({}, {})",
    "maximum({}, {})",
    "minimum({}, {})",
    "math.atan2({}, {})",
]
BINARY += [
    "divmod({}, {})[1]",
    "({} and {})",
    "({} or {})",
    "sum(({}, {}))",
    "math.copysign({}, {})",
]
UNARY = [f"math.{name}({{}})" for name in (
    "log", "log2", "log10", "log1p", "sqrt", "acos", "asin", "acosh", "atanh", "exp", "expm1", "sinh", "cosh",
    "gamma", "lgamma", "factorial", "floor", "ceil", "tan", "fabs", "isqrt", "cos", "tanh", "erf",
)]  # fmt: skip
UNARY += [
    "-{}",
    "+{}",
    "abs({})",
    "~{}",
    "int({})",
    "float({})",
    "round({})",
    "bool({})",
    "(not {})",
    "{} ** 2",
]
UNARY += [
    "{} ** 3",
    "{} ** -1",
    "{} ** 0.5",
    "shifted({})",
    "round({}, 1)",
    "concealed({})",
    "NUMBERS[{}]",
]
UNARY += ["{{0: 1, 1: 2.5}}[{}]", "{} ** 7", "TRIPLE[{}]"]
TESTS = [
    "{} < {}", "{} <= {}", "{} == {}", "{} != {}", "{} > {}", "{} in (1, 2, 5)", "{} < {} < 3", "not {}",
]  # fmt: skip
HELPERS = """
CONSTANT, NUMBERS, TRIPLE = 4, (0.5, 1, 2), (1, 2, 3)


def halved(x, y):
    return (x + y) / 2 if y else x


def shifted(x):
    y = x - 1
    y *= x
    return y


def concealed(x):
    return max(0.5, math.log(x)) if x != 3 else 1 // (x - 2)
"""


def expression(rng: random.Random, depth: int) -> str:
    """Return a random expression; most of them raise an exception in some states."""
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(LEAVES)
    below = [f"({expression(rng, depth - 1)})" for _ in range(3)]
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(BINARY).format(*below)
    if kind < 0.85:
        return rng.choice(UNARY).format(*below)
    test = rng.choice(TESTS).format(*below)
    return f"{below[2]} if {test} else {below[0]}" if rng.random() < 0.6 else f"where({test}, {below[1]}, {below[2]})"


def rate_of(rng: random.Random) -> str:
    """Return a random expression with values between 0.5 and 2, which hide what went wrong inside."""
    inner = expression(rng, rng.randint(1, 3))
    other = expression(rng, 1)
    hidden = [
        f"max(0.5, min(2.0, {inner}))", f"min(2, max(0.5, {inner}))", f"1.0 if ({inner}) > ({other}) else 1.5",
        f"1.5 if ({inner}) == ({other}) else 0.75", f"2.0 if s.n == 3 and ({inner}) <= ({other}) else 0.5",
        f"0.5 + (abs({inner}) > 1)", f"0.5 if s.m > 2 or not ({inner}) else 1.5",
        f"max(0.5, 1 if ({inner}) < 2 else 1.25)",
    ]  # fmt: skip
    return rng.choice(hidden)
