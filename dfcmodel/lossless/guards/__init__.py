"""Pause storms, and the watchdogs that end them."""
