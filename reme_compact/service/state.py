"""What one running service knows: its settings, its deployment and who asks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from starlette.requests import Request

from reme_compact.contract.errors import ConfigurationError, ServiceStoppingError
from reme_compact.jobs.clock import Clock
from reme_compact.jobs.deployment import Deployment, EmbeddedDeployment
from reme_compact.presets.schema import Preset
from reme_compact.service.archive_health import ArchiveHealth
from reme_compact.service.authentication import KEY_IN_SCOPE, NOBODY, ApiKey
from reme_compact.service.slots import Slots

if TYPE_CHECKING:
    from reme_compact.compaction.step import CompactContextStep

PING_SECONDS = 15.0

_ARCHIVE_THREADS = 8


@dataclass(slots=True)
class ServiceState:
    """Shared by all requests of one application.

    Attributes:
        preset: settings of service, execution, health and background jobs.
        clock: tells the time; replaced in tests.
        step: makes the proposals instead of the one that the preset describes; null: that one.
        ready_deployment: where jobs are kept and run; null until the application was started.
        slots: limits the requests whose bodies are read and answers awaited at once.
        waiting_slots: limits the requests that wait for jobs which go on without them, and the streams of events.
        archive_slots: limits the requests that read originals back at once.
        archive_threads: limits how many of those are being read; the others wait for one.
        archive_health: tells whether originals can be kept.
        stopping: is set as soon as the service is told to stop; null until the application was started.
        ping_seconds: how often a stream of events shows that it is alive; replaced in tests.

    """

    preset: Preset
    clock: Clock
    step: "CompactContextStep | None" = None
    ready_deployment: Deployment | None = None
    slots: Slots = field(init=False)
    waiting_slots: Slots = field(init=False)
    archive_slots: Slots = field(init=False)
    archive_threads: anyio.CapacityLimiter = field(init=False)
    archive_health: ArchiveHealth = field(init=False)
    stopping: anyio.Event | None = None
    ping_seconds: float = PING_SECONDS
    _reading: set[anyio.CancelScope] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.slots = Slots(self.preset.service.max_active_requests)
        self.waiting_slots = Slots(self.preset.service.max_waiting_requests, "service.max_waiting_requests")
        # Apart from the others: a place that is slow to read must not keep out those who do not need it.
        self.archive_slots = Slots(self.preset.service.max_active_requests)
        self.archive_threads = anyio.CapacityLimiter(_ARCHIVE_THREADS)
        self.archive_health = ArchiveHealth(is_always_used=self.preset.archive.session is not None, clock=self.clock)

    @property
    def deployment(self) -> Deployment:
        """Where jobs are kept and run.

        Raises:
            ConfigurationError: the application's lifespan was never entered, so nothing was built.

        """
        if self.ready_deployment is None:
            raise ConfigurationError("The application was not started; run it with its lifespan.")
        return self.ready_deployment

    @property
    def end_of_streams(self) -> anyio.Event | None:
        """What ends streams of events early: the service's stop, if their jobs go on and can be watched elsewhere.

        Null: streams last as long as their jobs, which end with the service.
        """
        return None if isinstance(self.ready_deployment, EmbeddedDeployment) else self.stopping

    def begin_stop(self) -> None:
        """Refuse what is not accepted yet, and end what would go on elsewhere; the rest may finish."""
        if self.stopping is not None:
            self.stopping.set()
        for scope in self._reading:
            scope.cancel()

    async def end_jobs(self) -> None:
        """End the unfinished jobs that cannot outlive this process, so that whoever waits for them is told."""
        if isinstance(self.ready_deployment, EmbeddedDeployment):
            await self.ready_deployment.store.fail_all(ServiceStoppingError().fields())

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Read a request, unless or until the service stops.

        Raises:
            ServiceStoppingError: it stops, so the request would not be worked on.
        """
        if self.stopping is not None and self.stopping.is_set():
            raise ServiceStoppingError
        with anyio.CancelScope() as scope:
            self._reading.add(scope)
            try:
                yield
            finally:
                self._reading.discard(scope)
        if scope.cancelled_caught:
            raise ServiceStoppingError

    def key_of(self, request: Request) -> ApiKey:
        """Return the key that a request came with; without any keys configured, one that stands for everybody."""
        key: ApiKey = request.scope.get(KEY_IN_SCOPE, NOBODY)
        return key

    def owner_of(self, request: Request) -> str:
        """Return who owns what the request creates."""
        return self.key_of(request).name

    def viewer_of(self, request: Request) -> str | None:
        """Return whose jobs the request may see and cancel; null: everybody's."""
        key = self.key_of(request)
        return None if key.administrator else key.name
