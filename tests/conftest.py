"""Settings that every test shares."""

from __future__ import annotations

import gc

import hypothesis

# Compilers make many objects that live long: looking for garbage less often takes a tenth of the time.
gc.set_threshold(50_000, 20, 100)

# Examples are the same in every run, and take as long as the machine needs.
hypothesis.settings.register_profile("hopflow", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("hopflow")
