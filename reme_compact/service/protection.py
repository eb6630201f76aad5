"""What a request passes before it reaches a path: is it meant for this service, from where, and from whom?"""

from starlette.middleware import Middleware

from reme_compact.presets.schema import ServiceSettings
from reme_compact.service.allowed_hosts import AllowedHosts, host_names
from reme_compact.service.authentication import Authentication, KnownKeys
from reme_compact.service.cors import page_middleware


def protection(settings: ServiceSettings) -> list[Middleware]:
    """Return the middlewares that let through what the settings allow, the outermost first.

    Keys come last: a browser asks without one whether a page may send it, and the page must be able to read a 401.

    Raises:
        ConfigurationError: a setting that only they read is wrong.
    """
    names = host_names(settings)
    hosts = [Middleware(AllowedHosts, names=names)] if names is not None else []
    keys = Middleware(Authentication, keys=KnownKeys(settings.api_keys))
    return [*hosts, *page_middleware(settings.cors_origins), keys]
