"""Constants of TCP: the text of `hopflow.tcp_constants` in the compiled copy."""

from __future__ import annotations

from hopflow.tcp_constants import DUP_THRESH

__all__ = ["DUP_THRESH"]
