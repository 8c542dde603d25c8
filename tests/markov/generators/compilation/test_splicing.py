"""A model's rules in a kernel: one signature each, and never those of an older class."""

from __future__ import annotations

import pytest

from markov import generator, stationary
from markov.generators.building import build_chain
from markov.generators.compilation.compiled import fill
from markov.generators.compilation.splicing import spliced
from tests.markov.conftest import Queue


def test_one_signature_per_kernel():
    """Two in one cached file could be mixed up by processes that write at the same time."""
    kernels = []
    for rate in (7.0, 7, True):
        model = Queue(arrival_rate=rate)
        assert build_chain(model, by="compiled").Q[0, 1] == float(rate)
        kernels.append(spliced(fill, model))
    assert len(set(kernels)) == 3
    assert [len(kernel.kernel.signatures) for kernel in kernels] == [1, 1, 1]


def test_a_class_that_is_defined_again():
    """As in a notebook: the same name, another rule, and never the old kernel."""

    def define(slope):
        class Again(Queue):
            @staticmethod
            def rules(s, q):
                if s.n > 0:
                    yield s._replace(n=s.n - 1), slope * q.service_rate
                else:
                    yield s._replace(n=q.capacity), q.arrival_rate

        return Again

    for slope in (1.0, 2.0, 1.0):
        model = define(slope)()
        Q = generator(model)
        assert Q[1, 0] == 10.0 * slope
        assert stationary(model).pi[0] == pytest.approx(1 / (1 + 12 * 0.7 / slope), rel=1e-13)
