"""Ports and the links behind them: lanes, pauses, laws, failures, routes."""
