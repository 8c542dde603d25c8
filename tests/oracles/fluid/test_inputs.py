"""The reference with a queue per input: what the law says of inputs, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from dfcmodel import CBR, DFC, Flow, Fluid, Link, Scenario
from dfcmodel.engine.plans import compile_scenario
from tests.oracles.fluid import runs as reference


@pytest.mark.slow
def test_inputs_have_equal_rates_whatever_their_number_of_flows() -> None:
    """Two flows over one input and one over another share a link 1/4, 1/4, 1/2."""
    rule = DFC(diffusion=0.5, per="input", phases="synchronous")
    links = [Link("a", "m", 1e3, 1e-3, 500, rule), Link("b", "m", 1e3, 1e-3, 500, rule)]
    links.append(Link("m", "z", 1e3, 1e-3, 500, rule))
    flows = [Flow(f"{n}", way, CBR(900.0)) for n, way in enumerate(("amz", "amz", "bmz"))]
    scenario = Scenario("inputs", links, flows, duration=3.0)
    plan = compile_scenario(scenario, Fluid(1), np.random.default_rng(0))
    found = reference.advance(plan, 3000, 1500)
    late = found.flows[1, :, 1] - found.flows[0, :, 1]
    assert late / late.sum() == pytest.approx([0.25, 0.25, 0.5], abs=0.01)
