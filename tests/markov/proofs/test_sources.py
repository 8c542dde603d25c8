"""Where rows come from, by the ending of the file's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov.proofs.checker import CertificateError
from markov.proofs.explicit_rows import ExplicitRows
from markov.proofs.prism_rows import PrismRows
from markov.proofs.sources import LISTED, MODELS, model_rows, source_of

QUEUE = "ctmc const int N; module m x : [0..N]; [] x < N -> 1 : (x'=x+1); [] x > 0 -> 2 : (x'=x-1); endmodule"


def test_the_ending_names_the_reader(tmp_path: Path) -> None:
    model, rows = tmp_path / "queue.sm", tmp_path / "queue.tra"
    model.write_text(QUEUE)
    rows.write_text("2 2\n0 1 1\n1 0 2\n")
    assert isinstance(source_of(model, {"N": 1}), PrismRows)
    assert isinstance(source_of(rows), ExplicitRows)
    assert model_rows(model, {"N": 1}).transitions({"x": 1}) == {(0,): 2}
    for suffix in (*MODELS, *LISTED):
        with pytest.raises(CertificateError, match=f"none{suffix}"):
            source_of(tmp_path / f"none{suffix}")


def test_other_endings_and_constants_of_a_list_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"model = '.*x\.py': must end in \.prism, .*, \.umb"):
        source_of(tmp_path / "x.py")
    with pytest.raises(ValueError, match=r"must end in \.prism, \.sm, \.pm, \.ctmc, \.jani$"):
        model_rows(tmp_path / "x.umb")
    with pytest.raises(ValueError, match=r"const: x\.tra has no constants: must not be given"):
        source_of(tmp_path / "x.tra", {"N": 1})
