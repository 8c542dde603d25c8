"""The cases of takano2006: the chain of nodes with diffusion-type flow control (ns-3) and without (ns-2)."""

from __future__ import annotations
