"""How a chain's distribution develops over time: uniformization with a bound on every error."""

from __future__ import annotations

from markov.time.transients.driver import transient
from markov.time.transients.infinite import InfiniteTransient
from markov.time.transients.results import Transient

__all__ = ["InfiniteTransient", "Transient", "transient"]
