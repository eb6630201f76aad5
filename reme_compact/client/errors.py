"""The failures that only a caller over HTTP can meet; all others are those of the contract."""

from reme_compact.contract.errors import ConfigurationError, ReportedError, ServiceUnavailableError


class InvalidAddressError(ConfigurationError):
    """What was given as an address cannot be called; nothing was sent."""


class ServiceError(ReportedError):
    """The service refused or failed with a code that this version has no class for; it carries the four fields."""


class ServiceUnreachableError(ServiceUnavailableError):
    """No service answered this client: nobody is there, somebody else is, or the answer was lost on the way.

    `retryable` tells whether that may pass by itself.
    """

    @property
    def error(self) -> str:
        """Name of the kind of error in the contract."""
        return ServiceUnavailableError.__name__


class AnswerLostError(ServiceUnreachableError):
    """No answer came to a request that may have arrived, so what it asks for may be done."""


class NobodyListensError(ServiceUnreachableError):
    """The address refuses connections: there is no service, so nothing was sent."""
