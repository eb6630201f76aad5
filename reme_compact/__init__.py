"""Keep an LLM agent's context small without losing what it needs.

The public names of the package; everything else may change without notice. They are imported when they are first
used, so that `import reme_compact`, and with it every start of the command line, costs next to nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reme_compact.compaction.step import CompactContextStep
    from reme_compact.contract.errors import (
        ConfigurationError,
        InvalidRequestError,
        MissingCredentialError,
        MissingExtraError,
        ReMeError,
        TokenCounterError,
    )
    from reme_compact.contract.options import CompactionOptions
    from reme_compact.contract.request import CompactionRequest
    from reme_compact.contract.result import CallDecision, CompactionResult, Response
    from reme_compact.decision.protocol import BinaryAnswer, DecisionModel, DecisionResponse
    from reme_compact.tokens.counters import AdditiveTokenCounter

__all__ = [
    "AdditiveTokenCounter",
    "BinaryAnswer",
    "CallDecision",
    "CompactContextStep",
    "CompactionOptions",
    "CompactionRequest",
    "CompactionResult",
    "ConfigurationError",
    "DecisionModel",
    "DecisionResponse",
    "InvalidRequestError",
    "MissingCredentialError",
    "MissingExtraError",
    "ReMeError",
    "Response",
    "TokenCounterError",
]

_HOMES = {
    "compaction.step": ("CompactContextStep",),
    "contract.errors": (
        "ConfigurationError",
        "InvalidRequestError",
        "MissingCredentialError",
        "MissingExtraError",
        "ReMeError",
        "TokenCounterError",
    ),
    "contract.options": ("CompactionOptions",),
    "contract.request": ("CompactionRequest",),
    "contract.result": ("CallDecision", "CompactionResult", "Response"),
    "decision.protocol": ("BinaryAnswer", "DecisionModel", "DecisionResponse"),
    "tokens.counters": ("AdditiveTokenCounter",),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"reme_compact.{module}"), name)
    raise AttributeError(f"module 'reme_compact' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
