import pytest
import redis

from reme_compact.cli.redis_url import flaw_of_redis_url


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "redis://localhost",
        "redis://redis-1.internal:6380/",
        "redis://:s3cret@redis:6379/15",
        "rediss://user:p%2Fa%40ss@[2001:db8::1]:6380/0?ssl_ca_certs=/etc/ca.pem",
        "redis://h/0?db=3&socket_timeout=2",
        "unix:///run/redis.sock",
        "unix://user:s3cret@/run/redis.sock?db=2",
    ],
)
def test_what_the_client_understands_is_let_through(url: str) -> None:
    assert flaw_of_redis_url(url) is None
    redis.Redis.from_url(url).close()


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("redis://:s3cret@127.0.0.1:1/0x", "after the last slash must be the number of a database"),
        ("redis://:s3cret@127.0.0.1:1/-1", "after the last slash must be the number of a database"),
        ("redis://:s3cret@127.0.0.1:1/0/1", "after the last slash must be the number of a database"),
        ("redis://:s3cret@127.0.0.1/0?db=x", "db= must be the number of a database"),
        ("redis://:s3cret@127.0.0.1/0?db=", "db= must be the number of a database"),
        ("redis://:s3cret@127.0.0.1:66666/0", "with a port from 1 to 65535"),
        ("redis://:s3cret@127.0.0.1:port/0", "with a port from 1 to 65535"),
        ("redis://:s3cret@127.0.0.1:0/0", "the port must be from 1 to 65535"),
        ("redis://:s3cret@/0", "the host is missing"),
        ("redis://:s3/cret@host/0", "with a port from 1 to 65535"),
        ("redis://user:s3cret#x@host/0", "write %23"),
        ("redis://user:s3 cret@host/0", "percent-encoded"),
        ("redis://[::1/0", "must be redis://"),
        ("redis:/127.0.0.1/0", "must be redis://"),
        ("REDIS://127.0.0.1/0", "must be redis://"),
        ("http://127.0.0.1/0", "must be redis://"),
        ("127.0.0.1:6379", "must be redis://"),
        ("", "must be redis://"),
        ("unix://", "by its whole path"),
        ("unix://run/redis.sock", "by its whole path"),
        ("unix:///run/redis.sock?db=one", "db= must be"),
    ],
)
def test_what_it_would_overlook_or_stumble_over_is_refused_without_repeating_it(url: str, said: str) -> None:
    flaw = flaw_of_redis_url(url)
    assert flaw is not None
    assert said in flaw
    assert "cret" not in flaw
