"""Cross-checks of hopflow's models against packet simulators and the papers' figures."""

from __future__ import annotations
