"""One chain whose states are spread over the devices of one process or of several (JAX)."""

from __future__ import annotations

from markov.sharding.answers import ShardedStationary
from markov.sharding.driver import stationary_sharded

__all__ = ["ShardedStationary", "stationary_sharded"]
