"""Reproducible measurements: `make bench` compares with the public package `reme-ai`, `make bench-quick` in a minute.

Modules that both sides load (`cases`, `counting`, `driver`, `histories`, `instant`, `measure`, `texts`) use nothing
but the standard library, because the peer runs them in its own environment.
"""
