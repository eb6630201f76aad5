"""What was asked for: the answer does not repeat the request, and good advice depends on it."""

from collections.abc import Mapping
from typing import Any

from reme_compact.cli.request_keys import request_keys
from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.request import CompactionRequest

_NO_MESSAGES = [{"role": "user", "content": []}]


def understood(request: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return a request if every key but its messages is as the contract says.

    Another service, or a newer one, may have accepted more; nothing can be advised about that.
    """
    try:
        CompactionRequest.parse({**request, "messages": _NO_MESSAGES})
    except InvalidRequestError:
        return None
    return request


def says_nothing(request: Mapping[str, Any], key: str) -> bool:
    """Tell whether a request leaves a text out; blank text means absent."""
    value = request.get(key)
    return not isinstance(value, str) or not value.strip()


def option(request: Mapping[str, Any], name: str) -> Any:
    """Return an option as it was sent, or its default."""
    options = request.get("options")
    if isinstance(options, Mapping) and name in options:
        return options[name]
    return request_keys()["options"].children[name].default
