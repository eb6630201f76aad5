"""Token counters by name, so that budgets work where no function can be passed: HTTP and the command line."""

import importlib
import re
from collections.abc import Callable
from dataclasses import replace

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.messages import Block, Message
from reme_compact.tokens.block_text import BLOCK_OVERHEAD, IMAGE_TOKENS, block_texts, data_blocks, message_overhead
from reme_compact.tokens.counters import AdditiveTokenCounter, NamedTokenCounter, TokenCounter
from reme_compact.tokens.encodings import ENCODINGS, load_text_counter
from reme_compact.tokens.estimate import estimate_tokens

_IMPORT_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def build_token_counter(backend: str, overhead_tokens: int = 0, *, name: str | None = None) -> TokenCounter:
    """Build a counter.

    Args:
        backend: `estimate` (meant to err upwards: see `estimate_tokens`), an encoding (`o200k_base`, `cl100k_base`), or
            `package.module:function`, a function over a whole history. An import path may come from a preset,
            never from a request.
        overhead_tokens: constant for tool schemas and framing, added to every count.
        name: shown in `stats.token_counter`; the backend by default.

    Raises:
        ConfigurationError: unknown backend, a missing extra, or an import path that leads nowhere.
    """
    if backend == "estimate":
        return _over_text(estimate_tokens, overhead_tokens, name or backend)
    if backend in ENCODINGS:
        return _over_text(load_text_counter(backend), overhead_tokens, name or backend)
    if _IMPORT_PATH.fullmatch(backend):
        return _imported(backend, overhead_tokens, name)
    raise ConfigurationError(
        f"Unknown token counter backend {backend!r}; known are estimate, {', '.join(ENCODINGS)} "
        "and package.module:function."
    )


def _over_text(count_text: Callable[[str], int], constant: int, name: str) -> AdditiveTokenCounter:
    """Make a counter of messages from a counter of texts."""

    def count_block(block: Block) -> int:
        framing = BLOCK_OVERHEAD if block.get("type") in {"tool_call", "tool_result"} else 0
        return framing + IMAGE_TOKENS * data_blocks(block) + sum(count_text(text) for text in block_texts(block))

    def count_message(message: Message) -> int:
        return message_overhead(message) + sum(count_block(block) for block in message["content"])

    return AdditiveTokenCounter(count_message, constant, count_block, name=name, approximate=True)


def _imported(path: str, constant: int, name: str | None) -> TokenCounter:
    module_name, _, attribute = path.partition(":")
    try:
        function = getattr(importlib.import_module(module_name), attribute)
    except Exception as error:
        # A module may raise anything while it is imported.
        raise ConfigurationError(f"The token counter {path!r} cannot be imported ({type(error).__name__}).") from error
    if isinstance(function, AdditiveTokenCounter):
        return replace(function, constant=function.constant + constant, name=name or function.name)
    if not callable(function):
        raise ConfigurationError(f"The token counter {path!r} is not callable.")
    return NamedTokenCounter(function, name or path, constant)
