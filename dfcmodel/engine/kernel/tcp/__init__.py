"""TCP sender and receiver of a window-controlled flow."""
