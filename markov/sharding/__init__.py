"""One chain whose states are spread over the devices of one process or of several (JAX)."""

from __future__ import annotations

from markov.sharding.answers import ShardedStationary
from markov.sharding.driver import stationary_sharded
from markov.sharding.host_devices import host_device_flags

__all__ = ["ShardedStationary", "host_device_flags", "stationary_sharded"]
