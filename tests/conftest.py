"""Fixtures and settings for all tests."""

import signal

import pytest
from hypothesis import HealthCheck, settings

# A shell that runs these in the background has SIGINT ignored, and processes that are started here would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

# How long one example takes says something about the machine, and nothing about the code.
settings.register_profile("reme", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("reme")


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the loop that hosts use."""
    return "asyncio"
