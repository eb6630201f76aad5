"""Build a decision model from its settings; each backend is imported when it is first wanted."""

from collections.abc import Callable

from reme_compact.decision.protocol import OwnedDecisionModel
from reme_compact.decision.settings import DecisionModelSettings


def _local(settings: DecisionModelSettings) -> OwnedDecisionModel:
    from reme_compact.decision.local import LocalDecisionModel  # noqa: PLC0415

    return LocalDecisionModel()


def _agentscope(settings: DecisionModelSettings) -> OwnedDecisionModel:
    from reme_compact.decision.agentscope import build_system_one  # noqa: PLC0415

    return build_system_one(settings)


def _agentscope_openai(settings: DecisionModelSettings) -> OwnedDecisionModel:
    from reme_compact.decision.agentscope import build_openai_decisions  # noqa: PLC0415

    return build_openai_decisions(settings)


BUILDERS: dict[str, Callable[[DecisionModelSettings], OwnedDecisionModel]] = {
    "local": _local,
    "agentscope": _agentscope,
    "agentscope_openai": _agentscope_openai,
}
"""How each backend is built, by name."""


def build_decision_model(settings: DecisionModelSettings) -> OwnedDecisionModel:
    """Build the decision model that the settings name; the caller closes it with `aclose()`.

    Blocks while it imports a provider SDK and sets up TLS, so call it at start.

    Raises:
        MissingCredentialError: a hosted backend without a key.
        MissingExtraError: the backend's dependencies are not installed.
        ConfigurationError: the provider SDK refuses the settings.

    """
    return BUILDERS[settings.backend](settings)
