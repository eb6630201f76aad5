"""Fixtures for the integration tests."""

import pytest


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the loop that hosts use."""
    return "asyncio"
