"""Derivatives of stationary measures with respect to parameters, with their bounds."""
