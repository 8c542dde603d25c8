"""The cases of yang2001: sources that control their flows by priority (ns-2)."""

from __future__ import annotations
