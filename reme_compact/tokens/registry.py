"""Token counters by name, so that budgets work where no function can be passed: HTTP and the command line."""

import importlib
import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.messages import Block, Message
from reme_compact.tokens.block_text import BLOCK_OVERHEAD, IMAGE_TOKENS, block_texts, data_blocks, message_overhead
from reme_compact.tokens.counters import AdditiveTokenCounter, NamedTokenCounter, TokenCounter
from reme_compact.tokens.encodings import ENCODINGS, load_text_counter
from reme_compact.tokens.estimate import encode, estimate_parts

_IMPORT_PATH = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")


def build_token_counter(backend: str, overhead_tokens: int = 0, *, name: str | None = None) -> TokenCounter:
    """Build a counter.

    Args:
        backend: `estimate` (meant to err upwards: see `estimate_parts`), an encoding (`o200k_base`, `cl100k_base`), or
            `package.module:function`, a function over a whole history. An import path may come from a preset,
            never from a request.
        overhead_tokens: constant for tool schemas and framing, added to every count.
        name: shown in `stats.token_counter`; the backend by default.

    Raises:
        ConfigurationError: unknown backend, a missing extra, or an import path that leads nowhere.
    """
    if backend == "estimate":
        return _over_text(_estimate_texts, overhead_tokens, name or backend)
    if backend in ENCODINGS:
        return _over_text(_counted_by(load_text_counter(backend)), overhead_tokens, name or backend)
    if _IMPORT_PATH.fullmatch(backend):
        return _imported(backend, overhead_tokens, name)
    raise ConfigurationError(
        f"Unknown token counter backend {backend!r}; known are estimate, {', '.join(ENCODINGS)} "
        "and package.module:function."
    )


def _over_text(count_texts: Callable[[Sequence[str]], Sequence[int]], constant: int, name: str) -> AdditiveTokenCounter:
    """Make a counter of messages from a counter of texts."""

    def count_blocks(blocks: Sequence[Block]) -> list[int]:
        texts = [block_texts(block) for block in blocks]
        counts = iter(count_texts([text for of_block in texts for text in of_block]))
        return [
            _framing(block) + sum(next(counts) for _ in of_block) for block, of_block in zip(blocks, texts, strict=True)
        ]

    def count_block(block: Block) -> int:
        return count_blocks([block])[0]

    def count_message(message: Message) -> int:
        return message_overhead(message) + sum(count_blocks(message["content"]))

    return AdditiveTokenCounter(
        count_message, constant, count_block, count_blocks, True, reads_only=True, name=name, approximate=True
    )


def _estimate_texts(texts: Sequence[str]) -> list[int]:
    return estimate_parts(encode(text) for text in texts)


def _counted_by(count_text: Callable[[str], int]) -> Callable[[Sequence[str]], list[int]]:
    return lambda texts: [count_text(text) for text in texts]


def _framing(block: Block) -> int:
    is_tool_block = block.get("type") in ("tool_call", "tool_result")
    return (BLOCK_OVERHEAD if is_tool_block else 0) + IMAGE_TOKENS * data_blocks(block)


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
