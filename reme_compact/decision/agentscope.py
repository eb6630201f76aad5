"""AgentScope classifiers as decision models: borrowed from a host, or built from settings and owned."""

from collections.abc import Awaitable, Callable
from typing import Any

from reme_compact.contract.errors import ConfigurationError, MissingCredentialError, MissingExtraError
from reme_compact.decision.failures import UNREADABLE_ANSWER, classify_failure
from reme_compact.decision.openai_answers import ExactDecisions
from reme_compact.decision.protocol import AnswersQuestions, Questions, State
from reme_compact.decision.settings import DecisionModelSettings

Close = Callable[[], Awaitable[None]]


def is_agentscope_classifier(model: object) -> bool:
    """Tell whether a model is an AgentScope classifier, without importing AgentScope."""
    return any(
        kind.__name__ == "ClassifierModelBase" and kind.__module__.partition(".")[0] == "agentscope"
        for kind in type(model).__mro__
    )


class AgentScopeDecisionModel:
    """Asks an AgentScope `ClassifierModelBase`.

    The classifier is borrowed, and never closed, unless `close` says how to close it.

    Attributes:
        backend: name of the backend, for `/ready`.
        model_name: the model the classifier asks, its SDK's default included; null when it does not say.

    """

    def __init__(self, classifier: Any, *, backend: str = "agentscope", close: Close | None = None) -> None:
        from agentscope.classifier import BinaryQuestion  # noqa: PLC0415 - slow, and only needed with AgentScope

        self._classifier = classifier
        self._question = BinaryQuestion
        self._close = close
        self.backend = backend
        name = getattr(classifier, "model", None)
        self.model_name: str | None = name if isinstance(name, str) else None

    async def __call__(self, state: State, questions: Questions, /) -> AnswersQuestions:
        """Answer every question about the state, in one request of the classifier.

        Raises:
            DecisionModelError: the classifier cannot make sense of what its provider answered.
            Exception: whatever else the classifier raises; see `classify_failure`.

        """
        asked = {name: self._question(instructions=question["instructions"]) for name, question in questions.items()}
        try:
            response: AnswersQuestions = await self._classifier(state, asked)
        except (AttributeError, LookupError, TypeError, ValueError) as error:
            # Classifiers read the provider's answer unchecked, and trip over what is missing or unknown in it.
            raise classify_failure(error, otherwise=UNREADABLE_ANSWER) from None
        return response

    async def aclose(self) -> None:
        """Close the connections of an owned classifier, once; leave a borrowed one alone."""
        close, self._close = self._close, None
        if close is not None:
            await close()


def build_system_one(settings: DecisionModelSettings) -> AgentScopeDecisionModel:
    """Build AgentScope's `JevClassifierModel` (TypeSafe System One).

    Raises:
        MissingCredentialError: there is no API key.
        MissingExtraError: AgentScope or the TypeSafe SDK is not installed.
        ConfigurationError: the SDK refuses the settings.

    """
    api_key = _api_key(settings)
    try:
        from agentscope.classifier import JevClassifierModel  # noqa: PLC0415
        from agentscope.credential import TypeSafeCredential  # noqa: PLC0415
        from typesafe_sdk import AsyncTypeSafeClient, RetryPolicy, TypeSafeError  # noqa: PLC0415
    except ImportError:
        raise MissingExtraError("The decision model backend 'agentscope'", "decision") from None
    base_url = settings.credential.base_url
    try:
        classifier = JevClassifierModel(
            TypeSafeCredential(api_key=api_key, base_url=base_url),
            **_chosen_model(settings),
            timeout=settings.timeout,
            max_retries=settings.max_retries,
            retry_delay=settings.retry_delay,
        )
        clients = [classifier.client]
        if base_url is not None:
            # The adapter cannot pass this on: where zstd is available, the SDK compresses request bodies, which
            # most servers other than TypeSafe's own refuse.
            classifier.client = AsyncTypeSafeClient(
                api_key=api_key,
                base_url=base_url,
                model=classifier.model,
                timeout=settings.timeout,
                retry=RetryPolicy(max_retries=settings.max_retries, backoff_initial=settings.retry_delay),
                compression=False,
            )
            clients.append(classifier.client)
    except TypeSafeError:
        raise _refused_settings("TypeSafe") from None

    async def close() -> None:
        for client in clients:
            await client.aclose()

    return AgentScopeDecisionModel(classifier, backend=settings.backend, close=close)


def build_openai_decisions(settings: DecisionModelSettings) -> AgentScopeDecisionModel:
    """Build AgentScope's `OpenAIClassifierModel` (OpenAI Decisions). The SDK chooses its own retry delay.

    Raises:
        MissingCredentialError: there is no API key.
        MissingExtraError: AgentScope or a recent enough OpenAI SDK is not installed.
        ConfigurationError: the SDK refuses the settings.

    """
    api_key = _api_key(settings)
    try:
        from agentscope.classifier import OpenAIClassifierModel  # noqa: PLC0415
        from agentscope.credential import OpenAICredential  # noqa: PLC0415
        from openai import OpenAIError  # noqa: PLC0415

        classifier = OpenAIClassifierModel(
            OpenAICredential(api_key=api_key, base_url=settings.credential.base_url),
            **_chosen_model(settings),
            timeout=settings.timeout,
            max_retries=settings.max_retries,
        )
    except ImportError:
        raise MissingExtraError("The decision model backend 'agentscope_openai'", "decision") from None
    except OpenAIError:
        raise _refused_settings("OpenAI") from None
    classifier.client.decisions = ExactDecisions(classifier.client.decisions)
    return AgentScopeDecisionModel(classifier, backend=settings.backend, close=classifier.client.close)


def _chosen_model(settings: DecisionModelSettings) -> dict[str, str]:
    """Leave the model out when none is chosen, so that the SDK's default holds."""
    return {} if settings.model is None else {"model": settings.model}


def _api_key(settings: DecisionModelSettings) -> str:
    if settings.credential.api_key is None:
        raise MissingCredentialError(
            f"The decision model backend '{settings.backend}' needs an API key. Set DECISION_MODEL_API_KEY, "
            "or use the built-in model, which needs none: DECISION_MODEL_BACKEND=local."
        )
    return settings.credential.api_key.get_secret_value()


def _refused_settings(sdk: str) -> ConfigurationError:
    return ConfigurationError(
        f"The {sdk} SDK refuses the decision model's settings. Check DECISION_MODEL_API_KEY (printable ASCII "
        "without spaces), DECISION_MODEL_BASE_URL and the timeouts."
    )
