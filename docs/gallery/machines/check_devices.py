"""Is JAX right on the devices that it sees here? One chain and one fluid run, beside our compiled code.

    python check_devices.py

On a machine with GPUs and JAX's CUDA packages nothing else is needed. Status 1 when something differs by more than it may.
"""

import sys
from dataclasses import replace

import jax
import numpy as np

from dfcmodel import DFC, simulate, takano2006
from dfcmodel.twin.twins import Twin
from markov import MarkovChain, PauseTandem, stationary, stationary_sharded
from markov.models.spaces import Space


def chain() -> tuple[float, float]:
    """Return the distance in total variation of the chain's two solutions, and what their bounds allow."""
    model = PauseTandem(buffers=(24, 24), high_threshold=18, arrival_rates=(25.0, 10.0, 1.0))
    explored = MarkovChain(model)
    ours, there = stationary(explored), stationary_sharded(model)
    space = Space.of(model.State, model.space(), model.name)
    pi = np.zeros(space.size)
    pi[space.numbers(np.array(explored.states))] = ours.pi
    return 0.5 * abs(there.pi - pi).sum(), ours.error_bound + there.error_bound


def fluid() -> tuple[float, float]:
    """Return the largest difference of efficiencies, and what the engine's grid of 2^-26 packets allows."""
    plain = takano2006("1", tcp="newreno")
    law = DFC(phases="synchronous")
    links = tuple(replace(link, discipline=law, buffer=1800.0) for link in plain.links)
    scenario = replace(plain, links=links, duration=0.1)
    ours, there = simulate(scenario, level="fluid"), Twin(scenario)()
    return abs(np.asarray(there.efficiency).T - ours.efficiency.values).max(), 1e-6


if __name__ == "__main__":
    print("devices:", *jax.devices())
    right = True
    for check in (chain, fluid):
        difference, allowed = check()
        right &= bool(difference <= allowed)
        print(f"{check.__name__}: difference {difference:.1e}, allowed {allowed:.1e}")
    sys.exit(0 if right else 1)
