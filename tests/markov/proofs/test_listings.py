"""Functions, information and exact rates of a certificate."""

from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest

from markov import Kanban, explore, read_prism
from markov.proofs.checker import CertificateError
from markov.proofs.listings import about, exact_rates, functions_of
from markov.proofs.prism_rows import PrismRows


def test_functions_are_the_labels_and_rewards_of_one_number():
    chain = explore(Kanban(tickets=1)).chain
    states = np.arange(chain.size)
    assert "throughput" in functions_of(chain, states, None)
    assert list(functions_of(chain, states, ["throughput"])) == ["throughput"]
    with pytest.raises(ValueError, match="measure = 'none'"):
        functions_of(chain, states, ["none"])


def test_the_file_is_named_with_its_digest(line):
    found = about(line, {"t": 2})
    assert found["sha256"] == hashlib.sha256(line.read_bytes()).hexdigest()
    assert (found["model"], found["constants"]) == ("line.sm", "t=2")


def test_exact_rates_are_near_those_of_float64(line):
    chain = read_prism(line, constants={"t": 2}).chain
    values, which = exact_rates(PrismRows(line, {"t": 2}), chain.components, chain.Q)
    rates = [values[k] for k in which.tolist()]
    assert len(set(values)) == len(values)
    off = chain.Q.tocoo()
    floats = off.data[off.row != off.col]
    assert Fraction(36, 100) in rates
    assert np.allclose(floats, [float(rate) for rate in rates], rtol=1e-15, atol=0.0)
    line.write_text(line.read_text().replace("free ->", "free & y > 0 ->"))
    with pytest.raises(CertificateError, match="other transitions"):
        exact_rates(PrismRows(line, {"t": 2}), chain.components, chain.Q)
    with pytest.raises(CertificateError, match="the variables are"):
        exact_rates(PrismRows(line, {"t": 2}), {"w": np.arange(3)}, chain.Q)


def test_a_mapping_names_functions_and_arrays():
    chain = explore(Kanban(tickets=1)).chain
    states = np.arange(chain.size)
    found = functions_of(chain, states, {"out": "throughput", "ones": np.ones(chain.size)})
    assert list(found) == ["out", "ones"]
    assert found["ones"].tolist() == [1.0] * chain.size
    with pytest.raises(ValueError, match="must be one number for each state"):
        functions_of(chain, states, {"two": np.ones((2, chain.size))})
