"""Continuous-time Markov chains given by rules, and answers that carry their proof.

>>> from markov import PauseTandem, stationary
>>> answer = stationary(PauseTandem(high_threshold=15, rtt=1.0))
>>> answer.throughput, answer.error_bound  # doctest: +SKIP
"""

from __future__ import annotations

from hopflow.public_names import attach
from hopflow.scipy_start import start_scipy

__distribution__ = "hopflow"
__getattr__, __dir__, __all__ = attach(__name__, __file__, start=start_scipy)
