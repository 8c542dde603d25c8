"""Is JAX right on the devices that it sees here? A fluid run, beside our compiled code.

    python check_devices.py

On a machine with GPUs and JAX's CUDA packages nothing else is needed. Status 1 when something differs by more than it may.
"""

import sys
from dataclasses import replace

import jax
import numpy as np

from dfcmodel import DFC, simulate, takano2006
from dfcmodel.twin.twins import Twin


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
    difference, allowed = fluid()
    print(f"fluid: difference {difference:.1e}, allowed {allowed:.1e}")
    sys.exit(0 if difference <= allowed else 1)
