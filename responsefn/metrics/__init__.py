"""What rules are compared by."""

from __future__ import annotations
