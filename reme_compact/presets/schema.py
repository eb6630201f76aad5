"""What a preset may say, with the defaults of everything it leaves out."""

from collections.abc import Iterator
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from reme_compact.contract.setting_values import BlankIsAbsent, Seconds, Whole
from reme_compact.contract.validation import short
from reme_compact.decision.settings import DecisionModelSettings

BUILTIN_TOKEN_COUNTERS = ("estimate", "o200k_base", "cl100k_base")


class Settings(BaseModel):
    """Base of everything in a preset: nothing unknown, and nothing that changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ServiceSettings(Settings):
    """Where the HTTP service listens and how much it accepts."""

    host: str = "127.0.0.1"
    port: Whole = Field(default=2333, ge=0, le=65535, description="0 takes any free port.")
    max_body_bytes: Whole = Field(default=64 * 1024 * 1024, gt=0)
    max_active_requests: Whole = Field(
        default=64, gt=0, description="Further requests are answered 503 with Retry-After."
    )
    request_read_seconds: Seconds = Field(default=30, gt=0, description="How long a client may take to send a body.")
    shutdown_grace_seconds: Seconds = Field(default=10, ge=0)
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class HealthSettings(Settings):
    """How long an outcome says something about now."""

    outcome_expires_after_seconds: Seconds = Field(
        default=60, gt=0, description="After this, a failed decision request no longer makes /ready say so."
    )


class BackgroundJobSettings(Settings):
    """Something the service does again and again on its own."""

    job: Literal["expire_health"]
    every_seconds: Seconds = Field(default=15, gt=0)
    enabled: bool = True


class JobSettings(Settings):
    """One job that a caller can ask for, and the components it uses, by name."""

    step: Literal["compact_context_step"]
    description: str = ""
    as_decision_model: str
    token_counter: Annotated[str | None, BlankIsAbsent] = Field(
        default=None, description="Counts a budget when the request names no counter."
    )


class TokenCounterSettings(Settings):
    """One token counter that a request may name."""

    backend: str = Field(description=f"One of {', '.join(BUILTIN_TOKEN_COUNTERS)}, or package.module:function.")
    overhead_tokens: Whole = Field(default=0, ge=0, description="Added to every count, for tool schemas and framing.")

    @field_validator("backend")
    @classmethod
    def _known_backend(cls, backend: str) -> str:
        module, colon, function = backend.partition(":")
        is_import_path = colon and function.isidentifier() and all(p.isidentifier() for p in module.split("."))
        if backend in BUILTIN_TOKEN_COUNTERS or is_import_path:
            return backend
        raise ValueError(f"must be {', '.join(BUILTIN_TOKEN_COUNTERS)} or package.module:function")


class ComponentSettings(Settings):
    """Everything that can be built, by kind and name. Nothing is built before it is used."""

    as_decision_model: dict[str, DecisionModelSettings] = Field(default_factory=dict)
    token_counter: dict[str, TokenCounterSettings] = Field(default_factory=dict)


class Preset(Settings):
    """A whole preset, merged, overridden and checked."""

    service: ServiceSettings = Field(default_factory=ServiceSettings)
    health: HealthSettings = Field(default_factory=HealthSettings)
    background: dict[str, BackgroundJobSettings] = Field(default_factory=dict)
    jobs: dict[str, JobSettings] = Field(default_factory=dict)
    components: ComponentSettings = Field(default_factory=ComponentSettings)

    @model_validator(mode="after")
    def _components_exist(self) -> Self:
        faults = list(_dangling_references(self))
        if faults:
            # An error with a location of its own, so that it is charged to the file that says so.
            raise ValidationError.from_exception_data(
                type(self).__name__,
                [
                    {"type": "value_error", "loc": ("jobs", job, kind), "input": None, "ctx": {"error": message}}
                    for job, kind, message in faults
                ],
            )
        return self


def missing_job(preset: Preset, name: str) -> str:
    """Say, of a preset, that it has no such job, and which jobs it has."""
    jobs = ", ".join(f"'{job}'" for job in sorted(preset.jobs))
    return f"has no job '{short(name)}'; it has {jobs or 'no jobs'}."


def _dangling_references(preset: Preset) -> Iterator[tuple[str, str, str]]:
    """Yield job, component kind and fault of every reference to a component that is not there."""
    for job_name, job in preset.jobs.items():
        for kind, name in (("as_decision_model", job.as_decision_model), ("token_counter", job.token_counter)):
            known: dict[str, object] = getattr(preset.components, kind)
            if name is not None and name not in known:
                exist = f"known are {', '.join(sorted(known))}" if known else "there is none"
                yield job_name, kind, f"names no component in components.{kind}; {exist}"
