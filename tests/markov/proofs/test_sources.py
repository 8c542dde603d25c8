"""Where rows come from, by the ending of the file's name."""

from __future__ import annotations

from pathlib import Path

import pytest

from markov import MM1K, read_prism, stationary
from tests.markov.proofs.certificates import checked, refusal
from tests.surface import invoke

QUEUE = "ctmc const int N; module m x : [0..N]; [] x < N -> 1 : (x'=x+1); [] x > 0 -> 2 : (x'=x-1); endmodule"
MODELS = (".prism", ".sm", ".pm", ".ctmc", ".jani")
LISTED = (".tra", ".umb")


def test_the_ending_names_the_reader(tmp_path: Path) -> None:
    certificate = tmp_path / "queue.cert"
    for suffix in MODELS[:-1]:
        model = tmp_path / f"queue{suffix}"
        model.write_text(QUEUE)
        stationary(read_prism(model, constants={"N": 1})).certificate(certificate)
        assert checked(certificate, model, "N=1")["rows"].startswith(
            f"re-derived from queue{suffix}, "
        )
    rows = tmp_path / "queue.tra"
    rows.write_text("2 2\n0 1 1\n1 0 2\n")
    rows.with_suffix(".sta").write_text("(x)\n0:(0)\n1:(1)\n")
    assert checked(certificate, rows)["rows"] == "re-derived from queue.tra, exactly"
    for suffix in (*MODELS, *LISTED):
        assert f"none{suffix}: " in refusal(certificate, tmp_path / f"none{suffix}")


def test_other_endings_and_constants_of_a_list_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"model = '.*x\.py': must end in \.prism, .*, \.umb"):
        invoke(["check", "x.cert", str(tmp_path / "x.py")], catch_exceptions=False)
    empty = tmp_path / "x.umb"
    empty.write_text("")
    with pytest.raises(ValueError, match=r"must end in \.prism, \.sm, \.pm, \.ctmc, \.jani$"):
        stationary(MM1K(capacity=2)).certificate(tmp_path / "x.cert", model=empty)
    with pytest.raises(ValueError, match=r"const: x\.tra has no constants: must not be given"):
        invoke(
            ["check", "x.cert", str(tmp_path / "x.tra"), "--const", "N=1"], catch_exceptions=False
        )
