"""What is known of diffusion-type flow control without simulating it."""

from __future__ import annotations
