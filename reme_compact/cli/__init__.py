"""The command line, `reme`."""
