"""What is simulated: links, disciplines, flows, and scenarios with their files."""

from __future__ import annotations
