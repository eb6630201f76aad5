"""What a preset may say, with the defaults of everything it leaves out."""

import re
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError, field_validator, model_validator

from reme_compact.contract.setting_values import BlankIsAbsent, Seconds, Whole
from reme_compact.contract.validation import short
from reme_compact.decision.settings import DecisionModelSettings

BUILTIN_TOKEN_COUNTERS = ("estimate", "o200k_base", "cl100k_base")

_SHA256 = re.compile(r"[0-9a-f]{64}")


class Settings(BaseModel):
    """Base of everything in a preset: nothing unknown, and nothing that changes later."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ApiKeySettings(Settings):
    """One API key: its holder sends it as `Authorization: Bearer KEY` and sees only its own jobs."""

    sha256: str = Field(
        description="SHA-256 of the key, as `reme api_key` prints it.", json_schema_extra={"pattern": "^[0-9a-f]{64}$"}
    )
    max_active_jobs: Annotated[Whole | None, BlankIsAbsent] = Field(
        default=None, gt=0, description="Unfinished jobs it may have at once; null: as many as the service takes."
    )
    administrator: bool = Field(default=False, description="Sees and cancels the jobs of every key.")

    @field_validator("sha256")
    @classmethod
    def _is_a_hash(cls, text: str) -> str:
        if not _SHA256.fullmatch(text):
            raise ValueError("must be 64 of the characters 0-9 and a-f, as `reme api_key` prints them")
        return text


class ServiceSettings(Settings):
    """Where the HTTP service listens and how much it accepts."""

    host: str = Field(default="127.0.0.1", description="Any but a loopback address needs at least one API key.")
    port: Whole = Field(default=2333, ge=0, le=65535, description="0 takes any free port.")
    max_body_bytes: Whole = Field(default=64 * 1024 * 1024, gt=0)
    max_active_requests: Whole = Field(
        default=64, gt=0, description="Further requests are answered 503 with Retry-After."
    )
    max_waiting_requests: Whole = Field(
        default=512, gt=0, description="Requests that wait with Prefer: wait=N, and streams of events, at once."
    )
    max_connections: Whole = Field(
        default=1024, gt=0, description="Open at once, if the process may open that many files, less 128."
    )
    request_read_seconds: Seconds = Field(
        default=30, gt=0, description="How long a client may take to send the head of a request, and then its body."
    )
    response_write_seconds: Seconds = Field(
        default=30, gt=0, description="How long a client may read nothing of an answer that waits for it."
    )
    shutdown_grace_seconds: Seconds = Field(
        default=10, ge=0, description="How long what clients wait for may take after a stop was asked for."
    )
    api_keys: dict[str, ApiKeySettings] = Field(
        default_factory=dict, description="By name. Without any, everybody who can connect may do everything."
    )
    allowed_hosts: tuple[str, ...] = Field(
        default=(), description="Names in the Host header that are answered to besides loopback ones and `host`."
    )
    cors_origins: tuple[str, ...] = Field(
        default=(), description="Web pages that may call the service, as in https://example.org; none by default."
    )
    max_wait_seconds: Seconds = Field(default=60, gt=0, description="Longest wait that Prefer: wait=N can ask for.")
    tracing: bool = Field(
        default=False, description="OpenTelemetry spans of jobs, sent as the OTEL_* variables say; extra [telemetry]."
    )
    log_format: Literal["console", "json"] = "console"
    log_level: Literal["debug", "info", "warning", "error"] = "info"


class RedisSettings(Settings):
    """The server that a distributed deployment shares."""

    url: Annotated[SecretStr | None, BlankIsAbsent] = Field(
        default=None, description="redis://[user:password@]host:port/db, rediss:// with TLS, or unix:///path."
    )
    key_prefix: str = Field(default="reme:", description="Starts every key, so that deployments can share a server.")


class ExecutionSettings(Settings):
    """How jobs are run, and how many are taken."""

    runner: Literal["local", "celery"] = Field(
        default="local", description="local: in the service's own process, in memory. celery: by workers, over Redis."
    )
    scoring: Literal["inline", "queue"] = Field(
        default="inline", description="With celery: decision requests in the jobs workers, or in scores workers."
    )
    max_active_jobs: Whole = Field(default=256, gt=0, description="Further jobs are answered 503 with Retry-After.")
    max_running_jobs: Whole = Field(default=32, gt=0, description="With local: jobs at once; the others are queued.")
    max_stored_bytes: Whole = Field(
        default=1024**3, gt=0, description="Memory for requests and results together; in Redis, of the compressed ones."
    )
    results_expire_after_seconds: Seconds = Field(default=3600, gt=0)
    start_within_seconds: Seconds = Field(default=300, gt=0, description="A job not started by then is timed_out.")
    lease_seconds: Seconds = Field(
        default=3, ge=0.5, description="With celery: a job whose worker is silent for so long goes to another one."
    )
    longest_job_seconds: Seconds = Field(
        default=3600,
        gt=0,
        description="With celery: longest time a job may take; larger total_timeout_seconds are 422.",
    )
    redis: RedisSettings = RedisSettings()


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


class ArchiveSettings(Settings):
    """Where originals are kept, for requests with the key `archive`."""

    location: Annotated[str | None, BlankIsAbsent] = Field(
        default=None,
        description="A directory, or a URL that fsspec knows (extra [archive]); null: there is no archive.",
    )
    session: Annotated[str | None, BlankIsAbsent] = Field(
        default=None, description="Session of requests that name none; null: those use no archive."
    )
    options: dict[str, Any] = Field(
        default_factory=dict, description="For a URL, what its file system takes, such as credentials."
    )


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
    execution: ExecutionSettings = Field(default_factory=ExecutionSettings)
    health: HealthSettings = Field(default_factory=HealthSettings)
    archive: ArchiveSettings = Field(default_factory=ArchiveSettings)
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
