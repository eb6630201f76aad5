"""Whether an address of a Redis server can be one: what Redis's client overlooks would lead to another database."""

import re
from urllib.parse import SplitResult, parse_qs, urlsplit

EXAMPLE_URL = "redis://127.0.0.1:6379/0"

_DATABASE = re.compile("[0-9]{1,9}")
_HOST = re.compile(r"[^\s/\\@:\[\]]+|[0-9A-Fa-f:.]+(%[^\s\]]+)?")
_SHAPE = "must be redis://[user:password@]host:port/database, rediss://... for TLS, or unix:///path?db=database"


def flaw_of_redis_url(url: str) -> str | None:
    """Say what is wrong with an address, without repeating any of it; null if nothing is."""
    if any(character.isspace() or not character.isprintable() for character in url):
        return "holds a space or a character that cannot be seen; in a password write it percent-encoded"
    scheme, delimiter, _ = url.partition("://")
    if not delimiter or scheme not in ("redis", "rediss", "unix"):
        return _SHAPE
    if "#" in url:
        return "holds a #, which ends an address; in a password write %23"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return f"{_SHAPE}, with a port from 1 to 65535"
    if port == 0:
        return "the port must be from 1 to 65535"
    return _flaw_of_socket(parts) if parts.scheme == "unix" else _flaw_of_place(parts)


def _flaw_of_socket(parts: SplitResult) -> str | None:
    if parts.hostname or parts.path in ("", "/"):
        return "a unix socket is named by its whole path, as in unix:///run/redis.sock"
    return _flaw_of_query(parts)


def _flaw_of_place(parts: SplitResult) -> str | None:
    if not parts.hostname or not _HOST.fullmatch(parts.hostname):
        return f"the host is missing, or is none; {_SHAPE} (in a password, write / ? # @ percent-encoded)"
    database = parts.path.removeprefix("/")
    if database and not _DATABASE.fullmatch(database):
        return f"what stands after the last slash must be the number of a database, as in {EXAMPLE_URL}"
    return _flaw_of_query(parts)


def _flaw_of_query(parts: SplitResult) -> str | None:
    databases = parse_qs(parts.query, keep_blank_values=True).get("db", [])
    if not all(_DATABASE.fullmatch(database) for database in databases):
        return "db= must be the number of a database"
    return None
