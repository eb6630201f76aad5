"""Settings of a decision model are checked before anything is built."""

from typing import Any

import pytest
from pydantic import ValidationError

from reme_compact.decision.backends import BUILDERS
from reme_compact.decision.settings import BACKENDS, DecisionModelSettings


def test_every_known_backend_can_be_built() -> None:
    assert set(BUILDERS) == set(BACKENDS)


@pytest.mark.parametrize("blank", [None, "", "  \n"])
def test_blank_text_is_absent(blank: str | None) -> None:
    settings = DecisionModelSettings.model_validate(
        {"backend": "local", "model": blank, "credential": {"api_key": blank, "base_url": blank}}
    )
    assert settings.model is None
    assert settings.credential.api_key is None
    assert settings.credential.base_url is None


def test_white_space_around_a_key_is_dropped() -> None:
    settings = DecisionModelSettings.model_validate({"backend": "local", "credential": {"api_key": " k \n"}})
    assert settings.credential.api_key is not None
    assert settings.credential.api_key.get_secret_value() == "k"


@pytest.mark.parametrize(
    "wrong",
    [
        {"backend": "agentscop"},
        {"timeout": 0},
        {"timeout": "inf"},
        {"timeout": True},
        {"max_retries": -1},
        {"max_retries": 1.5},
        {"retry_delay": -0.1},
        {"retry_delay": "nan"},
        {"retries": 1},
        {"credential": {"api_key": "naïve"}},
        {"credential": {"api_key": "line\nbreak"}},
        {"credential": {"base_url": "decisions.example.com"}},
    ],
)
def test_wrong_values_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        DecisionModelSettings.model_validate({"backend": "local", **wrong})


def test_numbers_may_be_text() -> None:
    settings = DecisionModelSettings.model_validate({"backend": "local", "timeout": "2.5", "max_retries": "0"})
    assert (settings.timeout, settings.max_retries) == (2.5, 0)
