"""The checker's own reader of PRISM files: each changed rate is noticed, repeated transitions are summed."""

from __future__ import annotations

from io import StringIO

import pytest

from markov import read_prism, stationary
from markov.proofs.checker import CertificateError, read, verify
from markov.proofs.prism_rows import PrismRows
from tests.markov.proofs.test_checker import TWO


def test_every_changed_rate_or_target_is_noticed(line, tmp_path):
    path, source = tmp_path / "line.cert", PrismRows(line, {"t": 2})
    stationary(read_prism(line, constants={"t": 2})).certificate(path, measures=[], model=line, constants={"t": 2})
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
    assert verify(read(StringIO(split))).bound == 0


def test_changes_of_what_is_no_variable_are_refused(tmp_path):
    model = tmp_path / "two.sm"
    model.write_text("ctmc const int k = 1; module m n : [0..1]; [] n < 1 -> (k' = 2); endmodule")
    with pytest.raises(CertificateError, match="'k' has no value here"):
        PrismRows(model).transitions({"n": 0})
