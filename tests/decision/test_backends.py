"""Decision models are built from settings, or refused with the cure."""

import sys
from typing import Any

import pytest
import typesafe_sdk

from reme_compact.contract.errors import ConfigurationError, MissingCredentialError, MissingExtraError
from reme_compact.decision.backends import build_decision_model
from reme_compact.decision.protocol import OwnedDecisionModel
from reme_compact.decision.settings import DecisionModelSettings

pytestmark = pytest.mark.anyio

HOSTED = ["agentscope", "agentscope_openai"]


def _settings(backend: str, **values: Any) -> DecisionModelSettings:
    return DecisionModelSettings.model_validate({"backend": backend, **values})


async def test_local_needs_nothing() -> None:
    model = build_decision_model(_settings("local"))
    assert isinstance(model, OwnedDecisionModel)
    assert model.backend == "local"
    await model.aclose()
    await model.aclose()


@pytest.mark.parametrize("backend", HOSTED)
def test_a_missing_key_names_the_variable_and_the_alternative(backend: str) -> None:
    with pytest.raises(MissingCredentialError) as caught:
        build_decision_model(_settings(backend))
    assert "DECISION_MODEL_API_KEY" in caught.value.message
    assert "DECISION_MODEL_BACKEND=local" in caught.value.message


@pytest.mark.parametrize(
    ("backend", "missing"),
    [
        ("agentscope", "agentscope.classifier"),
        ("agentscope", "typesafe_sdk"),
        ("agentscope_openai", "agentscope.classifier"),
        ("agentscope_openai", "openai"),
    ],
)
def test_a_missing_extra_names_the_installation(backend: str, missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"pip install 'reme-compact\[decision\]'"):
        build_decision_model(_settings(backend, credential={"api_key": "k"}))


@pytest.mark.parametrize("backend", HOSTED)
async def test_without_a_name_the_sdk_chooses_the_model(backend: str) -> None:
    model = build_decision_model(_settings(backend, credential={"api_key": "k"}))
    assert model.backend == backend
    assert model.model_name
    await model.aclose()
    await model.aclose()


@pytest.mark.parametrize("backend", HOSTED)
async def test_a_name_is_passed_on(backend: str) -> None:
    model = build_decision_model(_settings(backend, model="mine", credential={"api_key": "k"}))
    assert model.model_name == "mine"
    await model.aclose()


def test_settings_that_the_sdk_refuses_are_a_configuration_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> Any:
        raise typesafe_sdk.TypeSafeError("hidden")

    monkeypatch.setattr(typesafe_sdk, "AsyncTypeSafeClient", refuse)
    with pytest.raises(ConfigurationError, match="DECISION_MODEL_API_KEY") as caught:
        build_decision_model(_settings("agentscope", credential={"api_key": "k"}))
    assert "hidden" not in caught.value.message
