"""What a preset says about one decision model."""

import difflib
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, SecretStr, field_validator

from reme_compact.contract.setting_values import BlankIsAbsent, Seconds, Whole

BACKENDS = ("local", "agentscope", "agentscope_openai")
"""Names of the backends that `reme_compact.decision.backends` can build."""


class CredentialSettings(BaseModel):
    """Where a hosted decision model is, and the key it asks for. Blank text counts as absent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    api_key: Annotated[SecretStr | None, BlankIsAbsent] = Field(default=None, description="Never logged.")
    base_url: Annotated[str | None, BlankIsAbsent] = Field(
        default=None, description="Null: the provider SDK's default."
    )

    @field_validator("api_key")
    @classmethod
    def _a_header_value(cls, api_key: SecretStr | None) -> SecretStr | None:
        """Refuse what cannot be sent in a header, such as typographic quotes around a pasted key."""
        key = api_key.get_secret_value() if api_key is not None else ""
        if not key.isascii() or not key.isprintable() or " " in key:
            raise ValueError("must be printable ASCII without spaces")
        return api_key

    @field_validator("base_url")
    @classmethod
    def _an_address(cls, base_url: str | None) -> str | None:
        """Refuse what an SDK would only stumble over at the first request; never repeat it."""
        if base_url is None:
            return None
        try:
            parts = urlsplit(base_url)
            complete = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        except ValueError:
            complete = False
        if not complete:
            raise ValueError("must be a URL such as https://decisions.example.com")
        return base_url


class DecisionModelSettings(BaseModel):
    """One component of kind `as_decision_model`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    backend: str = Field(description=f"One of {', '.join(BACKENDS)}.")
    model: Annotated[str | None, BlankIsAbsent] = Field(default=None, description="Null: the provider SDK's default.")
    credential: CredentialSettings = Field(default_factory=CredentialSettings)
    timeout: Seconds = Field(default=10, gt=0, description="Seconds that one decision request may take.")
    max_retries: Whole = Field(default=1, ge=0, description="Further attempts of one decision request.")
    retry_delay: Seconds = Field(default=0.5, ge=0, description="Seconds before the first further attempt.")

    @field_validator("backend")
    @classmethod
    def _known_backend(cls, backend: str) -> str:
        if backend in BACKENDS:
            return backend
        close = difflib.get_close_matches(backend.lower(), BACKENDS, n=1)
        hint = f"did you mean '{close[0]}'? Known" if close else "known"
        raise ValueError(f"unknown backend; {hint} backends are {', '.join(BACKENDS)}")
