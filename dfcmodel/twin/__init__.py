"""The fluid model in JAX: smooth parts only, with gradients."""

from __future__ import annotations
