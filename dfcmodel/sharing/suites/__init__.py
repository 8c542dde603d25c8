"""Conformance suites: tables of cases with a source's requirements on a congestion control."""
