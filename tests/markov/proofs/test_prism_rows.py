"""The checker's own reader of PRISM files gives the rates that the solver's reader gives, exactly."""

from __future__ import annotations

from fractions import Fraction
from io import StringIO

import pytest

from markov import read_prism, stationary
from markov.proofs.checker import CertificateError, check, read, verified
from markov.proofs.prism_rows import PrismRows
from tests.markov.proofs.test_checker import TWO


def test_transitions_of_a_state_are_exact(line):
    source = PrismRows(line, {"t": 2})
    assert list(source.ranges) == ["w", "x", "b", "y"]
    found = source.transitions(source.state((1, 1, 1, 2)))
    assert found == {
        (2, 1, 1, 2): Fraction(36, 100),
        (1, 1, 0, 2): Fraction(2501, 1000),
        (1, 1, 1, 1): Fraction(2, 3),
    }
    found = source.transitions(source.state((2, 1, 0, 1)))
    assert found[1, 2, 0, 2] == Fraction(14, 10)  # both modules, 0.7 * 2 * 1
    assert found[2, 1, 1, 1] == Fraction(1, 10)


def test_rows_are_derived_exactly_and_other_rates_are_noticed(line, tmp_path):
    path, answer = tmp_path / "line.cert", stationary(read_prism(line, constants={"t": 2}))
    answer.certificate(path, model=line, constants={"t": 2})
    proved = check(path, PrismRows(line, {"t": 2}))
    assert proved.rows == "re-derived from line.sm, exactly, t = 2"
    assert proved.bound < 3e-16  # of the decimals, without the rounding of rates
    assert set(proved.means) == {"full", "out"}
    bound = answer.bound("out")
    assert float(proved.means["out"][0]) == pytest.approx(bound.value, rel=1e-14)
    assert proved.information["constants"] == "t=2"
    with pytest.raises(CertificateError, match=r"x = 2: must be in 0\.\.1"):
        check(path, PrismRows(line, {"t": 1}))
    with pytest.raises(CertificateError, match="which is not listed"):
        check(path, PrismRows(line, {"t": 3}))
    line.write_text(line.read_text().replace("0.36", "0.360000000001"))
    with pytest.raises(CertificateError, match=r"line\.sm: has other rates out of state number"):
        check(path, PrismRows(line, {"t": 2}))


def test_every_changed_rate_or_target_is_noticed(line, tmp_path):
    path, source = tmp_path / "line.cert", PrismRows(line, {"t": 2})
    stationary(read_prism(line, constants={"t": 2})).certificate(
        path, measures=[], model=line, constants={"t": 2}
    )
    text = path.read_text().splitlines(keepends=True)
    first = next(n for n, each in enumerate(text, 1) if each.startswith("states "))
    first_target = len(source.ranges) + 3
    count = 0
    for n, each in enumerate(text[first:], first):
        words = each.split()
        for k in range(first_target, len(words)):
            wrong = [*words]
            wrong[k] = f"{int(words[k], 16) + 1:x}"
            lines = [*text[:n], " ".join(wrong) + "\n", *text[n + 1 :]]
            with pytest.raises(CertificateError, match="has other rates out of state number"):
                source.compare(read(StringIO("".join(lines))))
            count += 1
    found = read(StringIO("".join(text)))
    assert source.compare(found).startswith("re-derived from line.sm, exactly")
    assert count == 2 * sum(map(len, found.rows)) > 200


def test_transitions_to_the_same_state_are_summed(tmp_path):
    """In the file of the model, and in the certificate."""
    model = tmp_path / "two.sm"
    model.write_text(
        "ctmc module m n : [0..1]; [] n = 0 -> 0.25 : (n' = 1); [] n = 0 -> 0.25 : (n' = 1);"
        "[] n = 1 -> 1.5 : (n' = 0); endmodule"
    )
    assert "exactly" in PrismRows(model).compare(read(StringIO(TWO)))
    split = TWO.replace("0 6 0 0 0 0 1 1", "0 6 0 0 0 0 1 1 1 2").replace("1/2", "1/6")
    split = split.replace("0 0 3", "0 0 9")
    assert "exactly" in PrismRows(model).compare(read(StringIO(split)))
    assert verified(read(StringIO(split))).bound == 0


def test_changes_of_what_is_no_variable_are_refused(tmp_path):
    model = tmp_path / "two.sm"
    model.write_text("ctmc const int k = 1; module m n : [0..1]; [] n < 1 -> (k' = 2); endmodule")
    with pytest.raises(CertificateError, match="'k' has no value here"):
        PrismRows(model).transitions({"n": 0})


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("ctmc", "dtmc", "'dtmc': must be 'ctmc'"),
        ("label", "system", "'system': this reader knows"),
        (
            "module second",
            "module second = other [x = z] endmodule module third",
            "'other': must be a module",
        ),
        (
            "module second",
            "module third = first [w = z] endmodule module second",
            "formula 'free' has 'w'",
        ),
        ("min(", "log(", "'log': this reader knows min, max"),
        ("const int t;", "const int t = k;", "'k' has no value here"),
        ("1/10", "1/0", "line.sm: "),
        ("free ->", "free # ->", "'#' is unknown"),
        ("w < t", "w < t < 3", "needs parentheses"),
        ("(w' = w + 1)", "(w' = w + )", "an expression is expected"),
        ("endrewards", "", "the file ends here"),
    ],
)
def test_what_is_refused(line, old, new, said):
    line.write_text(line.read_text().replace(old, new, 1))
    with pytest.raises(CertificateError, match=said):
        PrismRows(line, {} if "k" in new.split() or "k;" in new else {"t": 2})


def test_constants_must_be_those_of_the_file(line):
    with pytest.raises(CertificateError, match="the constant t needs a value"):
        PrismRows(line)
    with pytest.raises(CertificateError, match="has no constants s"):
        PrismRows(line, {"t": 1, "s": 2})
    with pytest.raises(CertificateError, match="must be whole"):
        PrismRows(line, {"t": "1.5"})
    with pytest.raises(CertificateError, match="No such file"):
        PrismRows(line.with_name("none.sm"))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2 - 1 - 1 + 3 * 2 / 4", Fraction(3, 2)),
        ("-(1 - 3) * 0.5", 1),
        ("pow(2, 3) + mod(7, 4) + max(1, 2.5)", Fraction(27, 2)),
        ("floor(2.5) + ceil(0.1)", 3),
        ("(!(1 = 2) & (1 > 2 | 2 >= 2) ? 5 : 6)", 5),
        ("(1 = 2 => 3 = 4) ? 7 : 8", 7),
    ],
)
def test_expressions_mean_what_they_mean_in_prism(tmp_path, written, value):
    text = f"ctmc module m x : [0..1]; [] x = 0 -> {written} : (x' = 1); [] x = 1 -> 1 : (x' = 0); endmodule"
    path = tmp_path / "one.sm"
    path.write_text(text)
    assert PrismRows(path).transitions({"x": 0}) == {(1,): value}
    assert read_prism(path).chain.Q[0, 1] == float(value)


def test_negative_rates_and_bad_powers_are_refused(tmp_path):
    path = tmp_path / "one.sm"
    for written, said in (
        ("x - 1", "negative"),
        ("pow(2, -1)", "at least 0"),
        ("mod(1, 0)", "mod"),
    ):
        path.write_text(f"ctmc module m x : [0..1]; [] true -> {written} : (x' = 1 - x); endmodule")
        with pytest.raises(CertificateError, match=said):
            PrismRows(path).transitions({"x": 0})


COPIES = """ctmc
const double slow = 1/10;
const double fast = 3/10;
module a
  x : [0..2] init 0;
  [go] x < 2 -> slow : (x' = x + 1);
  [] x > 0 -> slow * x : (x' = x - 1);
endmodule
module b = a [x = y, slow = fast, go = stop] endmodule
module c = b [y = z, stop = go] endmodule
"""


def test_copies_of_modules_have_other_names(tmp_path):
    """A copy of a copy is refused."""
    path = tmp_path / "copies.sm"
    path.write_text(COPIES.replace("module c = b [y = z, stop = go] endmodule\n", ""))
    source, chain = PrismRows(path), read_prism(path).chain
    assert source.transitions({"x": 1, "y": 1}) == {
        (2, 1): Fraction(1, 10), (0, 1): Fraction(1, 10), (1, 2): Fraction(3, 10), (1, 0): Fraction(3, 10)
    }  # fmt: skip
    for x, y in zip(*chain.states, strict=True):
        row = chain.Q[[chain.number_of((x, y))]].toarray()[0]
        for target, rate in source.transitions({"x": int(x), "y": int(y)}).items():
            assert row[chain.number_of(target)] == pytest.approx(float(rate), rel=1e-15)
    path.write_text(COPIES)
    with pytest.raises(CertificateError, match="'b': must be a module that stands before"):
        PrismRows(path)
