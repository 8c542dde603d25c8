"""Rows exported by PRISM or Storm are compared with those of a certificate."""

from __future__ import annotations

import pytest

from markov import read_explicit, read_prism, stationary
from tests.markov.proofs.certificates import checked, refusal

TRA = "3 4\n0 1 0.1\n1 0 0.25\n1 2 1e-3\n2 1 7\n"


@pytest.fixture
def tra(tmp_path):
    path = tmp_path / "three.tra"
    path.write_text(TRA)
    stationary(read_explicit(path).chain).certificate(tmp_path / "three.cert")
    return path


def test_states_by_number_and_rates_to_float64(tra):
    path = tra.with_suffix(".cert")
    assert checked(path, tra)["rows"] == "re-derived from three.tra, rates rounded to float64"
    tra.write_text(TRA.replace("3 4", "ctmc"))  # as Storm writes it
    assert checked(path, tra)["states"] == 3


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("0.25", "0.250000001", "has other rates out of state number 1"),
        ("2 1 7", "2 3 7", "2 leads to 3, which is not listed"),
        ("2 1 7", "2 1", "line 5: must be source"),
        ("2 1 7", "2 1 -7", "must not be negative"),
    ],
)
def test_what_is_refused(tra, old, new, said):
    tra.write_text(TRA.replace(old, new))
    assert said in refusal(tra.with_suffix(".cert"), tra)


def test_states_by_their_variables(tmp_path):
    """In the order of another program: the file of states says which is which."""
    model = tmp_path / "two.sm"
    model.write_text(
        "ctmc module m x : [3..4]; b : bool; [] x=3 -> 2 : (x'=4) & (b'=true); [] b -> 5 : (x'=3) & (b'=false); endmodule"
    )
    stationary(read_prism(model)).certificate(tmp_path / "two.cert")
    tra, certificate = tmp_path / "two.tra", tmp_path / "two.cert"
    tra.write_text("2 2\n0 1 5\n1 0 2\n")
    assert "two.sta: " in refusal(certificate, tra)
    tra.with_suffix(".sta").write_text("(b,x)\n0:(true,4)\n1:(false,3)\n")
    assert checked(certificate, tra)["rows"] == "re-derived from two.tra, exactly"
    tra.with_suffix(".sta").write_text("(b,x)\n0:(true,3)\n1:(false,3)\n")
    assert "is not in the file of states" in refusal(certificate, tra)
    tra.with_suffix(".sta").write_text("(b,y)\n")
    assert "the variables are b, y" in refusal(certificate, tra)
