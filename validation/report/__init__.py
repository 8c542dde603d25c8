"""The report: pages for readers, and the same verdicts as JSON and CSV.

A claim becomes a row (`rows`), which is written to ``claims.json`` and read again by the next call.
The start page and the pages of the papers are made from rows alone (`pages`); the page of a claim is
made from its finding, and similar claims share a page (`families`). `Report` writes them to a folder, claim by claim (`folders`).
"""

from __future__ import annotations

from validation.report.folders import Report, write

__all__ = ["Report", "write"]
