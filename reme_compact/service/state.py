"""What one running service knows: its settings, its deployment and who asks."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import anyio
from starlette.requests import Request

from reme_compact.contract.errors import ConfigurationError
from reme_compact.jobs.clock import Clock
from reme_compact.jobs.deployment import Deployment
from reme_compact.presets.schema import Preset
from reme_compact.service.authentication import KEY_IN_SCOPE, NOBODY, ApiKey
from reme_compact.service.slots import Slots

if TYPE_CHECKING:
    from reme_compact.compaction.step import CompactContextStep

PING_SECONDS = 15.0


@dataclass(slots=True)
class ServiceState:
    """Shared by all requests of one application.

    Attributes:
        preset: settings of service, execution, health and background jobs.
        clock: tells the time; replaced in tests.
        step: makes the proposals instead of the one that the preset describes; null: that one.
        ready_deployment: where jobs are kept and run; null until the application was started.
        slots: limits the requests whose bodies are read and answers awaited at once.
        stopping: is set as soon as the service is told to stop, so that streams without an end do not delay it; null
            until the application was started.
        ping_seconds: how often a stream of events shows that it is alive; replaced in tests.

    """

    preset: Preset
    clock: Clock
    step: "CompactContextStep | None" = None
    ready_deployment: Deployment | None = None
    slots: Slots = field(init=False)
    stopping: anyio.Event | None = None
    ping_seconds: float = PING_SECONDS

    def __post_init__(self) -> None:
        self.slots = Slots(self.preset.service.max_active_requests)

    @property
    def deployment(self) -> Deployment:
        """Where jobs are kept and run.

        Raises:
            ConfigurationError: the application's lifespan was never entered, so nothing was built.

        """
        if self.ready_deployment is None:
            raise ConfigurationError("The application was not started; run it with its lifespan.")
        return self.ready_deployment

    def begin_stop(self) -> None:
        """End what would go on as long as its client wants; requests that end by themselves are not touched."""
        if self.stopping is not None:
            self.stopping.set()

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
