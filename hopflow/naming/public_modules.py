"""The modules of which ``__all__`` is public: for documentation, tests and counts.

No other module imports this one: to name a module is to depend on it (`validation.judgements.code_hashes`).
"""

from __future__ import annotations

__all__ = ["ERRORS", "PACKAGES", "PUBLIC", "RESULTS", "SUBJECTS"]

PACKAGES = ("hopflow", "dfcmodel", "dfcmodel.lossless", "markov", "responsefn", "validation")
"""Modules whose public names are what users write in their programs."""
SUBJECTS = ("dfcmodel.recoveries", "dfcmodel.theory", "responsefn.linux")
"""Modules of public names of one subject each."""
RESULTS = ("dfcmodel.results", "dfcmodel.lossless.results", "markov.results", "responsefn.results")
"""Modules of public classes that functions return, for `isinstance` and annotations."""
ERRORS = ("markov.errors", "responsefn.errors")
"""Modules of public errors and warnings."""
PUBLIC = (*PACKAGES, *SUBJECTS, *RESULTS, *ERRORS)
"""All modules of which ``__all__`` is public."""
