"""The sender and the receiver of a flow with a window."""
