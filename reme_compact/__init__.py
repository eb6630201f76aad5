"""Keep an LLM agent's context small without losing what it needs.

The public names of the package; everything else may change without notice.
"""

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
