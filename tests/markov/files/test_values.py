"""Expressions of files: values against Python's, what formulas and copies of modules mean, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from markov.errors import FileError
from markov.files.jani import JaniReader
from markov.files.language import (
    FUNCTIONS,
    OPERATORS,
    Batch,
    Scope,
    Value,
    apply_function,
    apply_operators,
    names_of_language,
)
from markov.proofs import prism_expressions
from markov.proofs.prism_expressions import EXACT
from tests.markov.files.conftest import model_of

MODEL = """ctmc
const int N = 4;
formula twice = x + x;
formula a = b + 1;
formula b = a;
module m
  x : [-3..4] init 0;
  y : [1..5] init 1;
  on : bool init true;
  [] x < 4 -> 1 : (x' = x + 1) & (on' = !on);
  [] x > -3 -> 1 : (x' = x - 1);
  [] true -> 1 : (y' = y < 5 ? y + 1 : 1);
endmodule
label "late" = x > 1;
"""
"""Formulas a and b are in a circle, which counts where they are used."""


def values(folder: Path, text: str) -> list[tuple[Any, float]]:
    """Return the states, and in each of them the value of a reward."""
    model = model_of(folder, f'{MODEL}rewards "r" true : {text}; endrewards')
    chain = model.chain
    found = chain.model.rewards(chain.states)["r"]
    numbers = np.broadcast_to(np.asarray(found, dtype=float), (chain.size,))
    return list(zip(zip(*chain.states, strict=True), numbers.tolist(), strict=True))


@pytest.mark.parametrize("right", ["y", "2", "0.5"])
@pytest.mark.parametrize(
    ("sign", "python"),
    [
        ("+", lambda a, b: a + b), ("-", lambda a, b: a - b), ("*", lambda a, b: a * b), ("/", lambda a, b: a / b),
        ("<", lambda a, b: a < b), ("<=", lambda a, b: a <= b), (">", lambda a, b: a > b),
        (">=", lambda a, b: a >= b), ("=", lambda a, b: a == b), ("!=", lambda a, b: a != b),
    ],
)  # fmt: skip
def test_operators_are_those_of_python(
    tmp_path: Path, sign: str, python: Callable[[Any, Any], Any], right: str
) -> None:
    text = f"x {sign} {right}"
    for (x, y, _), found in values(tmp_path, f"({text} ? 1 : 0)" if sign not in "+-*/" else text):
        assert found == python(int(x), int(y) if right == "y" else float(right))


@pytest.mark.parametrize(
    ("text", "python"),
    [
        ("7 - 2 - 1", lambda x, y, on: 4),
        ("x + 2 * y - N", lambda x, y, on: x + 2 * y - 4),
        ("x < y ? min(x, y) : -x", lambda x, y, on: min(x, y) if x < y else -x),
        ('(!"late" & y > 3 ? 1 : 0)', lambda x, y, on: x <= 1 and y > 3),
        ("twice + 1", lambda x, y, on: 2 * x + 1),
        ("pow(2, y) / 4", lambda x, y, on: 2**y / 4),
        ("(y > 2 & mod(x, y - 2) = 0 ? 1 : 0)", lambda x, y, on: y > 2 and x % (y - 2) == 0),
        ("y > 2 ? mod(x, y - 2) : -1", lambda x, y, on: x % (y - 2) if y > 2 else -1),
        ("(on <=> x > 0 ? 1 : 0)", lambda x, y, on: on == (x > 0)),
        ("min(3, 1, 2) + max(3, 1.5) + floor(-1.5) + ceil(1.2)", lambda x, y, on: 4.0),
        ("round(2.5) + 10 * round(-2.5)", lambda x, y, on: 3 - 20),
        ("pow(2, 10) + pow(4.0, 0.5) + log(8, 2)", lambda x, y, on: 1029.0),
        ("mod(7, 4) + 10 * mod(-1, 4)", lambda x, y, on: 33),
        ("(1 / 0 > x ? 1 : 0)", lambda x, y, on: math.inf > x),
        # as in PRISM's grammar: powers and implications to the right, powers after a minus sign
        ("(x > 9 => y > 2 => on ? 1 : 0)", lambda x, y, on: 1),
        ("(on => y > 2 => x > 1 => y > 3 ? 1 : 0)", lambda x, y, on: not (on and y > 2 and x > 1) or y > 3),
        ("2 ^ y ^ 2 + 2 ^ 3 ^ 2", lambda x, y, on: 2**y**2 + 512),
        ("-2 ^ 2 + 2.0 ^ -1 ^ 2", lambda x, y, on: 4 + 2),
        # parts that are not evaluated, as in PRISM's tests of short circuits
        ("(N = 4 | mod(3, N - 4) = 0 ? 1 : 0)", lambda x, y, on: 1),
        ("(x > 9 & mod(3, N - 4) = 0 ? 1 : 0)", lambda x, y, on: 0),
        ("(N > 4 => pow(2, N - 5) > 0 ? 1 : 0)", lambda x, y, on: 1),
        ("N > 4 ? mod(3, N - 4) : y", lambda x, y, on: y),
    ],
)
def test_an_expression_means_what_its_parts_mean(tmp_path: Path, text: str, python: Callable[..., float]) -> None:
    for (x, y, on), found in values(tmp_path, text):
        assert found == pytest.approx(float(python(int(x), int(y), bool(on))), rel=1e-15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("z", "'z' is not defined"),
        ('("early" ? 1 : 0)', '"early" is not defined'),
        ("a", "a -> b -> a: formulas in a circle"),
        ("(x & on ? 1 : 0)", "an operand of & is a number"),
        ("(!x ? 1 : 0)", "what ! applies to is a number"),
        ("-true", "'-' of a truth value"),
        ("x + true", r"'\+' of a truth value"),
        ("(x = true ? 1 : 0)", "'=' of a int and a bool"),
        ("mod(x, 0.5)", "mod of a real number"),
        ("floor(x, y)", r"floor takes 1 argument\(s\), not 2"),
        ("x ? x : y", "a condition is a number"),
        ("(on ? x : on)", "between numbers and truth values"),
        ("mod(x, y - 2)", "not positive"),
        (" * ".join(["x", *["3"] * 40]), r"beyond 2\^62"),
        ("pow(y, 40)", r"beyond 2\^62"),
        ("pow(y, x)", "exponent below 0"),
        ("x + mod(3, N - 4)", "not positive"),
        ("(mod(3, N - 4) = 0 | N = 4 ? 1 : 0)", "not positive"),
    ],
)
def test_what_means_nothing_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FileError, match=message):
        values(tmp_path, text)


def test_constants_and_properties_skip_parts_that_are_decided(tmp_path: Path) -> None:
    constants = "const bool ok = N = 4 | mod(3, N - 4) = 0; const int k = N > 4 ? mod(3, N - 4) : 7;"
    model = model_of(tmp_path, MODEL.replace("formula twice", f"{constants}\nformula twice"))
    assert model.property("ok & k = 7 & (N > 4 => pow(2, N - 5) > 0)").value is True
    with pytest.raises(FileError, match="line 3: mod by a number that is not positive"):
        model_of(tmp_path, MODEL.replace("formula twice", "const int k = mod(3, N - 4);\nformula twice"))


def test_formulas_that_grow_without_end_are_refused(tmp_path: Path) -> None:
    def with_formulas(formulas: dict[str, str], asked: str) -> Any:
        text = "".join(f"formula {name} = {body};\n" for name, body in formulas.items())
        counter = "module m x : [0..1]; [] true -> 1 : (x' = 1 - x); endmodule\n"
        reward = f'rewards "r" true : {asked}; endrewards'
        chain = model_of(tmp_path, f"ctmc\n{text}{counter}{reward}").chain
        return chain.model.rewards(chain.states)["r"]

    doubled = {"f0": "x"} | {f"f{k}": f"f{k - 1} + f{k - 1}" for k in range(1, 60)}
    assert max(with_formulas(doubled, "f20")) == 2**20  # each once
    with pytest.raises(FileError, match=r"beyond 2\^62"):
        with_formulas({**doubled, "f60": "f59 * 16"}, "f60")
    nested = {"g0": "x"} | {f"g{k}": f"g{k - 1}" for k in range(1, 120)}
    with pytest.raises(FileError, match="nested more than 100 deep"):
        with_formulas(nested, "g119")


def test_a_renaming_reaches_into_formulas_and_actions(tmp_path: Path) -> None:
    """The copy of a queue empties with that of a third module, and has rates of its own."""
    text = """ctmc
formula twice = 2 * x + 1;
module first
  x : [0..2] init 0;
  [] x < 2 -> twice : (x' = x + 1);
  [go] x > 0 -> 3 : (x' = x - 1);
endmodule
module second = first [x = y, go = run] endmodule
module third
  z : [0..9] init 0;
  [run] true -> 1 : (z' = mod(z + 1, 10));
endmodule
"""
    chain = model_of(tmp_path, text).chain
    assert chain.size == 3 * 3 * 10
    rates = dict(zip(zip(*chain.states, strict=True), chain.Q.toarray(), strict=True))
    for (x, y, z), row in rates.items():
        expected = {(x + 1, y, z): 2 * x + 1} if x < 2 else {}
        expected |= {(x, y + 1, z): 2 * y + 1} if y < 2 else {}
        expected |= {(x - 1, y, z): 3} if x > 0 else {}
        expected |= {(x, y - 1, (z + 1) % 10): 3} if y > 0 else {}
        found = {state: row[k] for k, state in enumerate(rates) if row[k] > 0.0}
        assert found == {tuple(map(int, state)): rate for state, rate in expected.items()}


@pytest.mark.parametrize("name", ["N", "x", "busy"])
def test_a_name_is_taken_by_a_constant_a_variable_or_a_formula(tmp_path: Path, name: str) -> None:
    text = "ctmc\nconst int N = 2;\nformula busy = x > 0;\nmodule m x : [0..N]; endmodule\n"
    with pytest.raises(FileError, match=rf"model\.sm, line 5: '{name}' is defined twice"):
        model_of(tmp_path, f"{text}formula {name} = 3;\n").chain  # noqa: B018


# The functions of the expression languages: one table, with a rule for arrays and one for a number.

SAMPLES = {None: (2.5, -3.0, 1.0), 1: (2.5,), 2: (2.5, 1.5)}
WHOLES = {None: (7, -3, 1), 1: (-3,), 2: (7, 3)}


def numbers_of(sample: Any) -> list[Value]:
    """Return variables with these values in two states."""
    kinds = ["double" if isinstance(x, float) else "int" for x in sample]
    dtype = {"double": np.float64, "int": np.int64}
    arrays = [np.array([x, x], dtype=dtype[kind]) for kind, x in zip(kinds, sample, strict=True)]
    return [Value(kind, lambda _c, a=array: a) for kind, array in zip(kinds, arrays, strict=True)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_both_rules_of_a_function_are_equal(name: str) -> None:
    entry, compared = FUNCTIONS[name], 0
    points = [
        SAMPLES[entry.arguments],
        WHOLES[entry.arguments],
        *([(0.5,), (-0.5,), (0,), (-2.5,)] if entry.arguments == 1 else []),
    ]
    for point in points:
        try:
            value = apply_function(name, numbers_of(point), ("f", 1))
            with np.errstate(all="ignore"):
                result = np.asarray(value.run(Batch(np.zeros((0, 2), dtype=np.int64))))
        except FileError:
            if name == "mod":  # by its type: not of the rule of one state
                continue
            with pytest.raises(ValueError, match=r"below 0|must be a whole number"):  # pow and whole
                entry.single(*point)
            continue
        expected = entry.single(*point)
        # powers of whole numbers stay whole in one state, where they may be followed exactly
        assert isinstance(expected, float) == (value.kind == "double") or name == "power"
        np.testing.assert_array_equal(result, [expected, expected])
        compared += 1
    assert compared


@pytest.mark.parametrize("sign", OPERATORS)
def test_both_rules_of_an_operator_are_equal(sign: str) -> None:
    """Over all pairs of truth values, or of numbers, and where the language defines it: in exact arithmetic."""
    samples: Any = [False, True] if OPERATORS[sign].truths and sign != "=" else [-3, 2, 7, 2.5]
    exact = {entry.prism: entry for entry in prism_expressions.OPERATORS}
    for a, b in itertools.product(samples, samples):
        arrays = [Value("bool", lambda _c, x=x: np.array([x, x])) if x in (False, True) else None for x in (a, b)]
        left, right = (array or numbers_of((x,))[0] for x, array in zip((a, b), arrays, strict=True))
        result = apply_operators(left, [(sign, right)], ("f", 1)).run(Batch(np.zeros((0, 2), dtype=np.int64)))
        expected = OPERATORS[sign].single(lambda _s, a=a: a, lambda _s, b=b: b)(())
        np.testing.assert_array_equal(result, [expected, expected])
        if sign in exact:
            value = exact[sign].call(*(Fraction(x) if isinstance(x, float) else x for x in (a, b)))
            assert float(value) == expected
            assert exact[sign].jani == OPERATORS[sign].jani


@pytest.mark.parametrize(("operator", "value", "expected"), [
    ("abs", -2, 2), ("abs", -2.5, 2.5), ("sgn", -2.5, -1), ("sgn", 0, 0), ("sgn", 3, 1), ("trc", -2.5, -2), ("trc", 2.5, 2),
    ("trc", 2, 2), ("floor", -2.5, -3), ("ceil", -2.5, -2),
])  # fmt: skip
def test_operators_of_jani_that_are_derived_from_others(operator: str, value: float, expected: float) -> None:
    tree = JaniReader("m.jani").expression({"op": operator, "exp": value}, "guard")
    result = Scope("m.jani", {}).value(tree).single()
    assert result == expected
    assert type(result) is type(expected)


def test_the_sign_of_no_number_is_refused() -> None:
    (nan,) = numbers_of((math.nan,))
    with pytest.raises(FileError, match="sgn of a number that is none"):
        apply_function("sgn", [nan], ("f", 1)).run(Batch(np.zeros((0, 2), dtype=np.int64)))


@pytest.mark.parametrize("entry", EXACT, ids=lambda entry: entry.jani or entry.prism)
def test_exact_functions_are_those_of_the_table(entry: Any) -> None:
    """The exact reader has a table of its own; names, numbers of arguments and values agree."""
    languages = {"prism": entry.prism, "jani": entry.jani}
    (name,) = {names_of_language(language)[word] for language, word in languages.items() if word}
    assert (FUNCTIONS[name].prism, FUNCTIONS[name].jani) == (entry.prism, entry.jani)
    assert FUNCTIONS[name].arguments == entry.arguments
    for point in (WHOLES[entry.arguments], *((SAMPLES[1], (-2.5,), (-0.5,)) if entry.arguments == 1 else ())):
        exact = entry.call(*(Fraction(x) if isinstance(x, float) else x for x in point))
        assert exact == FUNCTIONS[name].single(*point)
