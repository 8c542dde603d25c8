"""Variables without a value are seen in the text of the rules; powers and products are checked as they run."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import pytest

from markov import ChainModel, stationary
from markov.errors import RuleError
from markov.generators.building import build_chain
from markov.generators.compilation.guards import uncompilable
from tests.markov.generators.conftest import one_component


def test_a_negative_power_of_a_whole_number_is_a_fraction():
    """Compiled, 3 ** -2 is 0: another chain, solved without a word."""

    class Discouraged(ChainModel):
        class State(NamedTuple):
            n: int

        class Params(NamedTuple):
            arrivals: float = 2.0
            factor: float = 3  # an int where a float was meant
            room: int = 4

        def space(self):
            return {"n": range(self.room + 1)}

        @staticmethod
        def rules(s, q):
            if s.n < q.room:
                yield s._replace(n=s.n + 1), q.arrivals * q.factor**-s.n
            if s.n > 0:
                yield s._replace(n=s.n - 1), 1.0

    exact = np.cumprod([1.0, *(2.0 * 3.0**-n for n in range(4))])
    np.testing.assert_allclose(stationary(Discouraged()).pi, exact / exact.sum(), rtol=1e-14)
    for room in (4, 20, 5000):
        Q = build_chain(Discouraged(room=room)).Q
        up = [2.0 * 3**-n for n in range(min(room, 600))]
        np.testing.assert_array_equal(Q.diagonal(1)[: len(up)], up)


@pytest.mark.parametrize("most", [70, 5000])
def test_whole_numbers_do_not_wrap(most):
    """Binomial coefficients beyond 2^63, as floats only in the end."""

    def rules(s: Any, q: Any) -> Any:
        c = 1
        for i in range(min(s.n, 40)):
            c = c * (q.most - i) // (i + 1)
        if s.n < q.most:
            yield s._replace(n=s.n + 1), 1.0 + math.log2(c)
        if s.n > 0:
            yield s._replace(n=s.n - 1), 7**s.n / 7 ** (s.n - 1)

    Q = build_chain(one_component(range(most + 1), rules, {"most": most})).Q
    up = [1.0 + math.log2(math.comb(most, min(n, 40))) for n in range(most)]
    np.testing.assert_array_equal(Q.diagonal(1), up)
    np.testing.assert_array_equal(Q.diagonal(-1), np.full(most, 7.0))


@pytest.mark.parametrize("size", [10, 5000])
def test_a_variable_that_was_not_assigned_is_an_error(size):
    def rules(s: Any, q: Any) -> Any:
        if s.n != 7:
            speed = 2.0
        yield s._replace(n=(s.n + 1) % q.size), speed

    with pytest.raises(UnboundLocalError, match=r"^rules: State\(n=7\): .*'speed'") as caught:
        build_chain(one_component(range(size), rules, {"size": size}))
    assert isinstance(caught.value, RuleError)
    assert "assign the variable in every branch" in str(caught.value)
    assert "test_guards.py, line " in str(caught.value)
    assert uncompilable(rules) == "rules: speed may have no value"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("if s.n: c = 1", "c may have no value"),
        ("for i in range(s.n): c = i", "c may have no value"),
        ("for i in range(s.n): pass\n c = i", "i may have no value"),
        ("try:\n  c = 1\n except ZeroDivisionError: pass", "c may have no value"),
        ("c += 1", "c may have no value"),
        ("if s.n:\n  c = 1\n else:\n  return", None),
        ("c = s.n ** 2", None),
        ("for i in range(3):\n  if i > 1: continue\n  c = 1\n c = 2", None),
        ("c = [i for i in range(3)][0]", None),
        ("c = helper(s)", "helper: x may have no value"),
    ],
)
def test_what_is_not_compiled(text, why, tmp_path):
    path = tmp_path / "rules_of_a_user.py"
    helper = "def helper(s):\n if s.n:\n  x = 2\n return x\n\n"
    path.write_text(f"{helper}def rules(s, q):\n {text}\n yield s, c\n", encoding="utf-8")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)  # noqa: S102
    found = uncompilable(scope["rules"])
    assert found is None if why is None else why in found
