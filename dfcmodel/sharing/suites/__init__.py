"""Conformance suites: tables of cases with what a source expects of a congestion control."""
