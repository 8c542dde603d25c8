"""Audits of real buffer tables: readers, verdicts per row, laws of tables, chips, and identification from tables."""
