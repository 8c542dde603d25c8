"""The ``hopflow`` command: its parts, its help, compilation ahead of use."""
