"""What flows did at nodes: columns, and arrays on demand."""

from __future__ import annotations

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest

from dfcmodel import CBR, Flow, Fluid, Packets, Scenario, chain, simulate
from dfcmodel.results.at_nodes import AtNodes, columns_of


def lossy(method: Fluid | Packets):
    """Return a run that loses packets of two flows, at different nodes."""
    links = chain(3, rate=1e3, delay=1e-3, buffer=10)
    flows = [
        Flow("a", (1, 2, 3), CBR(1.5e3)),
        Flow("b", (2, 3), CBR(0.5e3)),
        Flow("c", (1, 2), CBR(1.0)),
    ]
    return simulate(Scenario("lossy", links, flows, duration=0.2), method, sample=0.05)


@pytest.mark.parametrize("method", [Packets(seed=1), Fluid()])
def test_sums_are_those_of_the_array(method: Fluid | Packets) -> None:
    run = lossy(method)
    columns = columns_of(run, "lost")
    assert columns.shape == (3, 2, 4)
    by_flow = run.lost_by_flow
    assert by_flow[:2].min() > 1.0 > by_flow[2]
    np.testing.assert_array_equal(columns.array(), run.lost)
    np.testing.assert_allclose(by_flow, run.lost.sum(axis=(1, 2)), rtol=1e-15)
    np.testing.assert_allclose(columns.by_node(), run.lost.sum(axis=(0, 2)), rtol=1e-15)


def test_arrays_are_made_when_they_are_read() -> None:
    run = lossy(Packets(seed=1))
    assert isinstance(vars(run)["carried"], AtNodes)
    copied = pickle.loads(pickle.dumps(copy.copy(run)))
    assert run.carried is run.carried
    assert isinstance(vars(run)["carried"], np.ndarray)
    np.testing.assert_array_equal(copied.carried, run.carried)
    assert (
        columns_of(run, "carried").values.tolist() == columns_of(copied, "carried").values.tolist()
    )


def test_another_array_replaces_the_columns() -> None:
    run = lossy(Packets(seed=1))
    other = replace(run, lost=np.ones_like(run.lost))
    assert other.lost_by_flow.tolist() == [8.0, 8.0, 8.0]
    assert columns_of(other, "lost").by_node().tolist() == [12.0, 12.0]
