"""Where the originals of a request are kept."""

import inspect

from reme_compact.archive.archive import Archive
from reme_compact.archive.opening import storage_at
from reme_compact.archive.reference import Session
from reme_compact.compaction.originals import Originals, Resolve
from reme_compact.contract.errors import InvalidRequestError
from reme_compact.contract.request import CompactionRequest


class OriginalsChoice:
    """What one step knows of archives.

    Args:
        archive: the archive, or where it is (see `storage_at`); null: there is none.
        session: the session of requests that name none; null: those use no archive.
        resolve: tells of a host's source ref whether an original is found under it; null: the host is believed.

    Raises:
        TypeError: `resolve` is no synchronous function, or a session is given without an archive.
        ConfigurationError: there can be no archive at this place.
        MissingExtraError: an optional dependency is missing.
        InvalidRequestError: the session is blank.
    """

    def __init__(
        self, archive: Archive | str | None = None, session: str | None = None, resolve: Resolve | None = None
    ) -> None:
        if resolve is not None and not _is_synchronous(resolve):
            raise TypeError("resolve must be a synchronous function that takes a source ref and returns a bool.")
        if session is not None and archive is None:
            raise TypeError("archive_session needs an archive: pass archive=... as well.")
        self.archive = Archive(storage_at(archive)) if isinstance(archive, str) else archive
        self._session = Session(session).name if session is not None else None
        self._resolve = resolve

    def check(self, request: CompactionRequest) -> None:
        """Tell whether there is an archive for a request that asks for one.

        Raises:
            InvalidRequestError: there is none.
        """
        if request.archive is not None and self.archive is None:
            message = (
                "no archive is configured here: give the preset archive.location, or the step archive=...; or keep "
                "the originals yourself and pass source_refs"
            )
            raise InvalidRequestError([{"path": "archive", "message": message}])

    def for_request(self, request: CompactionRequest, owner: str) -> Originals:
        """Return what looks after the originals of one request.

        Args:
            request: the request.
            owner: who owns its session; empty: nobody in particular.

        Raises:
            InvalidRequestError: it asks for an archive, and there is none.
        """
        self.check(request)
        name = request.archive.session if request.archive is not None else self._session
        session = Session(name, owner) if name is not None and self.archive is not None else None
        return Originals(self.archive, session, self._resolve)


def _is_synchronous(resolve: object) -> bool:
    if not callable(resolve) or inspect.iscoroutinefunction(resolve):
        return False
    return not inspect.iscoroutinefunction(type(resolve).__call__)
