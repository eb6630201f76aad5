"""Fixtures for the integration tests."""

import pytest
from redis_fixtures import durable_server, redis_server

__all__ = ["durable_server", "redis_server"]


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the loop that hosts use."""
    return "asyncio"
