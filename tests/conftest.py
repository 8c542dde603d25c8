"""Settings that every test shares."""

from __future__ import annotations

import hypothesis

# Examples are the same in every run, and take as long as the machine needs.
hypothesis.settings.register_profile("hopflow", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("hopflow")
