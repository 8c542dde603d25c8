"""Devices on one processor: how many, and that they have patience."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from markov.sharding import host_device_flags

LATE = """
import time, jax, numpy as np
from jax.sharding import Mesh, PartitionSpec as P

def late(x):
    def wait(value, place):
        time.sleep(4.0 * int(place))
        return value
    same = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.lax.psum(jax.pure_callback(wait, same, x, jax.lax.axis_index("a")), "a")

mesh = Mesh(jax.devices(), ("a",))
found = jax.jit(jax.shard_map(late, mesh=mesh, in_specs=P("a"), out_specs=P()))(np.arange(2.0))
print(float(found[0]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(("patience", "status"), [(1, -6), (3600, 0)])
def test_devices_wait_as_long_as_they_are_told(patience: float, status: int) -> None:
    """One is four seconds late: with a patience of one second XLA aborts the process."""
    flags = {"XLA_FLAGS": host_device_flags(2, patience), "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", LATE],
        env=os.environ | flags,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status
    assert (done.stdout.strip() == "1.0") == (status == 0)


@pytest.mark.parametrize(
    ("arguments", "said"), [((0,), "devices = 0"), ((2, 0.5), "patience = 0.5")]
)
def test_refused(arguments: tuple[float, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        host_device_flags(*arguments)  # type: ignore[arg-type]
