"""Cross-checks of hopflow's models against packet simulators and the papers' claims.

>>> from validation import cases, load
>>> len(cases()) > 100
True
>>> sorted(load("zheng2002/periodic-loss").dims)
['packets_per_loss', 'rule', 'seed']
"""

from __future__ import annotations

from hopflow.public_names import attach, check_packages

__distribution__ = "hopflow"
check_packages("dfcmodel", "markov", "responsefn")  # before imports that would say less
__getattr__, __dir__, __all__ = attach(__name__, __file__)
