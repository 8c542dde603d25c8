"""Rules for a sending rate: that of RoCE senders by marks, and by round-trip times."""
