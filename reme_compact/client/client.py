"""The synchronous client."""

import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self, TypeVar
from weakref import WeakSet

from reme_compact.archive.pieces import DEFAULT_PIECE_CHARS, Piece
from reme_compact.client import requests
from reme_compact.client.answers import Answer, answer_of
from reme_compact.client.calls import Call, Conversation, converse
from reme_compact.client.errors import AnswerLostError
from reme_compact.client.exchange import exchange
from reme_compact.client.following import follow
from reme_compact.client.job_events import events_sent, open_events
from reme_compact.client.originals import read_original, read_piece
from reme_compact.client.problems import ReportedProblemError, typed
from reme_compact.client.settings import checked_settings
from reme_compact.client.status import Health, Readiness, ask_health, ask_readiness
from reme_compact.contract.job import JobDocument, JobEvent, JobPage, JobStatus
from reme_compact.contract.request import CompactionRequest
from reme_compact.contract.result import Response

T = TypeVar("T")

_CONNECTING_SECONDS = 60.0


class Client:
    """Calls a running service; safe to share between threads, since every call has a connection of its own.

    Every method raises `ServiceUnreachableError` when no service answers, the error of the contract that a refusal
    stands for (such as `InvalidRequestError`), and `ServiceError` for one that this version does not know.

    Args:
        address: base URL of the service, `https` where a proxy before it speaks TLS.
        api_key: null: what stands in the environment variable REME_API_KEY; blank: none.
        timeout: seconds for one call with all its attempts. Null: 60, and for a proposal 30 more than the request's
            own `total_timeout_seconds`. A stream of events only has to begin in this time.
        retries: so often a call is made again that the service refuses for now (429 or 503, with `Retry-After`), and
            one whose answer was lost, if it only reads or has an idempotency key.
        tls: whom to trust where the address is `https`; null: as the system does.

    Raises:
        ConfigurationError: an argument cannot be what it should.

    """

    def __init__(
        self,
        address: str = "http://127.0.0.1:2333",
        api_key: str | None = None,
        timeout: float | None = None,
        *,
        retries: int = 0,
        tls: SSLContext | None = None,
    ) -> None:
        self._settings = checked_settings(address, api_key=api_key, timeout=timeout, retries=retries, tls=tls)
        self._wait: Callable[[float], None] = time.sleep
        self._streams: WeakSet[Generator[JobEvent, None, None]] = WeakSet()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the streams of events that are still open."""
        for stream in list(self._streams):
            stream.close()

    def compact_context(
        self,
        request: CompactionRequest | Mapping[str, Any] | None = None,
        /,
        *,
        idempotency_key: str | None = None,
        **keys: Any,
    ) -> Response:
        """Ask for a proposal and wait for it.

        Args:
            request: the request.
            idempotency_key: your name for it; sent again with the same name it is not judged again.
            keys: request keys, instead of the request or of single keys of it.

        Raises:
            InvalidRequestError: the request breaks the contract.
            ReMeError: as for every method.

        """
        return self._converse(requests.ask_for_proposal(requests.request_values(request, keys), idempotency_key))

    def submit(
        self,
        request: CompactionRequest | Mapping[str, Any] | None = None,
        /,
        *,
        idempotency_key: str | None = None,
        start_within_seconds: float | None = None,
        **keys: Any,
    ) -> JobDocument:
        """Hand a request over as a job; the arguments are those of `compact_context`.

        Args:
            request: the request.
            idempotency_key: your name for it; sent again with the same name it is the same job.
            start_within_seconds: how long the job may wait to be started; null: as long as the service allows.
            keys: request keys, instead of the request or of single keys of it.

        """
        values = requests.request_values(request, keys)
        return self._converse(requests.ask_for_job(values, idempotency_key, start_within_seconds))

    def job(self, job_id: str) -> JobDocument:
        """Return a job as it is now; raises `JobNotFoundError` if there is none."""
        return self._converse(requests.ask_about_job(job_id))

    def jobs(self, *, status: JobStatus | None = None, limit: int | None = None) -> Iterator[JobPage]:
        """Yield pages of jobs, the newest first, each when it is asked for; `limit` is the size of a page."""
        cursor: str | None = None
        while True:
            page = self._converse(requests.ask_for_page(status, limit, cursor))
            yield page
            if page.next_cursor is None:
                return
            cursor = page.next_cursor

    def result(self, job_id: str) -> Response:
        """Return what a finished job answers; raises `JobNotFinishedError` before, and the job's error if it failed."""
        return self._converse(requests.ask_for_result(job_id))

    def cancel(self, job_id: str) -> JobDocument:
        """Have a job cancelled and return what became of it; one that is finished stays what it is."""
        return self._converse(requests.ask_to_cancel(job_id))

    def events(self, job_id: str, last_event_id: str | None = None) -> Iterator[JobEvent]:
        """Yield what happens to a job, up to `finished`; goes on by itself when the connection breaks.

        Args:
            job_id: the job.
            last_event_id: id of the event after which to begin; null: from the beginning.

        """
        stream = self._follow(job_id, last_event_id)
        self._streams.add(stream)
        return stream

    def wait(self, job_id: str) -> Response:
        """Wait until a job ends and return what it answers; raises its error if it failed."""
        with closing(self._follow(job_id, None)) as events:
            for _ in events:
                pass
        return self.result(job_id)

    def recover(self, reference: str, offset: int = 0, max_chars: int = DEFAULT_PIECE_CHARS) -> Piece:
        """Return a piece of the original that a preview stands for; see `Piece`.

        Args:
            reference: as it stands in the last line of the preview.
            offset: where to begin, in characters.
            max_chars: 1 to 16,384.

        """
        return self._converse(read_piece(reference, offset, max_chars))

    def original(self, reference: str) -> str:
        """Return the whole original that a preview stands for, held against the hash in its reference."""
        return self._converse(read_original(reference))

    def ready(self) -> Readiness:
        """Return whether every part is there that jobs need, and what is missing."""
        return self._converse(ask_readiness())

    def health(self) -> Health:
        """Return that the process is alive, and which version it is."""
        return self._converse(ask_health())

    def _converse(self, conversation: Conversation[T]) -> T:
        try:
            return converse(conversation, self._ask)
        except ReportedProblemError as problem:
            raise typed(problem) from None

    def _ask(self, call: Call) -> Answer:
        settings, attempts = self._settings, self._settings.attempts_at(call)
        sent = settings.with_key(call.sent)
        while True:
            try:
                reply = exchange(settings.address, sent, timeout_seconds=attempts.seconds_left(), tls=settings.tls)
                pause = attempts.pause_after(reply)
                if pause is None:
                    return answer_of(settings.address, reply, accepts=call.accepts)
            except AnswerLostError:
                pause = attempts.pause_after_loss()
                if pause is None:
                    raise
            self._wait(pause)

    def _follow(self, job_id: str, after: str | None) -> Generator[JobEvent, None, None]:
        try:
            with closing(follow(lambda last: self._connect(job_id, last), self._wait, lambda _: None, after)) as events:
                yield from events
        except ReportedProblemError as problem:
            raise typed(problem) from None

    def _connect(self, job_id: str, after: str | None) -> Generator[JobEvent, None, None]:
        settings = self._settings
        sent = events_sent(job_id, after, settings.headers)
        timeout = settings.timeout_seconds or _CONNECTING_SECONDS
        with open_events(settings.address, sent, timeout_seconds=timeout, tls=settings.tls) as events:
            yield from events
