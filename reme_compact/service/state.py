"""What one running service knows: its settings, its step and its clock."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.schema import Preset
from reme_compact.service.slots import Slots

if TYPE_CHECKING:
    from reme_compact.compaction.step import CompactContextStep

Clock: TypeAlias = Callable[[], datetime]


def utc_now() -> datetime:
    """Return the current time, with its zone."""
    return datetime.now(UTC)


@dataclass(slots=True)
class ServiceState:
    """Shared by all requests of one application.

    Attributes:
        preset: settings of service, health and background jobs.
        clock: tells the time; replaced in tests.
        slots: limits the requests that are worked on at once.
        ready_step: the step, or null until the application was started.

    """

    preset: Preset
    clock: Clock
    ready_step: "CompactContextStep | None" = None
    slots: Slots = field(init=False)

    def __post_init__(self) -> None:
        self.slots = Slots(self.preset.service.max_active_requests)

    @property
    def step(self) -> "CompactContextStep":
        """The step that answers requests.

        Raises:
            ConfigurationError: the application's lifespan was never entered, so nothing was built.

        """
        if self.ready_step is None:
            raise ConfigurationError("The application was not started; run it with its lifespan.")
        return self.ready_step
