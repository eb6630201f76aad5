"""Compaction as agent frameworks need it: configured in one place, called before every model call, never in the way."""

import asyncio
import logging
import secrets
from collections.abc import Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from reme_compact.archive.archive import Archive
from reme_compact.archive.recovery_tool import RecoveryTool
from reme_compact.archive.reference import Session
from reme_compact.compaction.counting import count_draft
from reme_compact.compaction.step import CompactContextStep
from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.exception_places import exception_places
from reme_compact.contract.formats import FormatName
from reme_compact.contract.request import CompactionRequest
from reme_compact.decision.protocol import DecisionModel
from reme_compact.history.draft import Draft
from reme_compact.history.formats.foreign_draft import draft_of
from reme_compact.history.formats.opening import OpenedHistory, open_history
from reme_compact.integrations.remembered_previews import RememberedPreviews
from reme_compact.tokens.counters import TokenCounter
from reme_compact.tokens.registry import build_token_counter

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a model call should be given.

    Attributes:
        messages: the history, in its own format; what is unchanged are the caller's own objects.
        changed: whether anything in it differs from what was handed over.
        answer: the proposal that was just made; null: nothing had to be asked, or asking failed.
    """

    messages: list[dict[str, Any]]
    changed: bool
    answer: dict[str, Any] | None = None


class ContextCompaction:
    """Keeps what a model is sent below a limit, call after call.

    A framework hands over its whole, unchanged history before each model call. What an earlier call has replaced
    stays replaced, bit for bit, so that a provider's prompt cache stays good; only when what is then left reaches the
    trigger is a decision model asked. That memory lives as long as this object.

    Whatever goes wrong while an agent runs is logged, without content, and the history goes on as far as it is known.

    Args:
        trigger_tokens: compact from so many tokens on.
        target_tokens: until so few are left; null: half of the trigger.
        eligible_tool_names: tools whose results may be replaced; the recovery tool's need not be named.
        archive: keeps the originals: an `Archive`, a directory, or a URL.
        session: whose originals they are, unless a call names another; null: a new one for this object.
        as_decision_model: see `CompactContextStep`; it is borrowed.
        token_counter: the host's own counter, or the name of a built-in one.
        preserve_recent_pairs: the last so many tool pairs are kept as they are.
        min_saved_tokens: change nothing at all unless so many tokens are saved.
        options: more of `CompactionOptions`.

    Raises:
        ConfigurationError: a limit makes no sense, or there can be no archive at this place.
        InvalidRequestError: an option is refused.
        TypeError: the decision model or the counter is none.
    """

    def __init__(
        self,
        *,
        trigger_tokens: int,
        target_tokens: int | None = None,
        eligible_tool_names: Collection[str],
        archive: Archive | str,
        session: str | None = None,
        as_decision_model: DecisionModel | Literal["local"] = "local",
        token_counter: TokenCounter | str = "estimate",  # noqa: S107 - the name of a counter
        preserve_recent_pairs: int = 4,
        min_saved_tokens: int | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        target = target_tokens if target_tokens is not None else trigger_tokens // 2
        if not 0 < target < trigger_tokens:
            raise ConfigurationError("target_tokens must be above 0 and below trigger_tokens.")
        counter = build_token_counter(token_counter) if isinstance(token_counter, str) else token_counter
        self._counter = counter
        self._step = CompactContextStep(as_decision_model=as_decision_model, token_counter=counter, archive=archive)
        self._session = Session(session if session is not None else secrets.token_hex(8)).name
        self._trigger_tokens = trigger_tokens
        self._values: dict[str, Any] = {
            "eligible_tool_names": list(eligible_tool_names),
            "options": {
                "preserve_recent_pairs": preserve_recent_pairs,
                "min_saved_tokens": min_saved_tokens,
                "max_output_tokens": target,
                **(options or {}),
            },
        }
        # Refused now rather than before some model call.
        CompactionRequest.parse({"messages": [{"role": "user", "content": []}], **self._values})
        self._previews = RememberedPreviews()

    async def compact(
        self,
        messages: list[dict[str, Any]],
        *,
        format: FormatName,  # noqa: A002 - the contract's word
        session: str | None = None,
        goal: str | None = None,
    ) -> Compacted:
        """Return what the next model call should be given instead of a history.

        Args:
            messages: the whole history, as the framework keeps it; never changed.
            format: how it is written.
            session: whose originals they are; null: this object's.
            goal: what the agent is to achieve; null: the last user text says it.
        """
        name = session if session is not None else self._session
        current = Compacted(messages, changed=False)
        try:
            values = {**self._values, "messages": messages, "format": format, "archive": {"session": name}}
            request = CompactionRequest.parse({**values, "goal": goal})
            history, draft, is_due, changed = await asyncio.to_thread(partial(self._prepare, request, name))
            current = Compacted(draft.messages, changed)
            if not is_due:
                return current
            answer = (await self._step.run(request.model_copy(update={"messages": draft.messages}))).answer
            await asyncio.to_thread(partial(self._learn, request, history, answer, name))
            return Compacted(answer["messages"], changed or answer["changed"], answer)
        except Exception as error:  # noqa: BLE001 - an agent must not fail because its context could not get smaller
            _log.error("The context could not be compacted and is sent as it is: %s", exception_places(error))
            return current

    def compact_now(
        self,
        messages: list[dict[str, Any]],
        *,
        format: FormatName,  # noqa: A002 - the contract's word
        session: str | None = None,
        goal: str | None = None,
    ) -> Compacted:
        """Do the same for frameworks that do not await; blocks, also where an event loop runs in this thread."""
        work = partial(self.compact, messages, format=format, session=session, goal=goal)
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(work())
        with ThreadPoolExecutor(1, "reme-compact") as pool:
            return pool.submit(lambda: asyncio.run(work())).result()

    def recovery_tool(self, session: str | None = None) -> RecoveryTool:
        """Return the tool with which an agent reads originals of a session back."""
        if self._step.archive is None:
            raise RuntimeError("there is no archive")
        return RecoveryTool(self._step.archive, session if session is not None else self._session)

    async def aclose(self) -> None:
        """Let go of what this object made itself."""
        await self._step.aclose()

    def _prepare(self, request: CompactionRequest, session: str) -> tuple[OpenedHistory, Draft, bool, bool]:
        """Put known previews in; tell whether what is left reaches the trigger, and whether there were any."""
        history = open_history(request)
        draft = draft_of(history)
        changed = self._previews.apply(session, history, draft)
        return history, draft, count_draft(self._counter, draft).total >= self._trigger_tokens, changed

    def _learn(self, request: CompactionRequest, history: OpenedHistory, answer: dict[str, Any], session: str) -> None:
        proposal = open_history(request.model_copy(update={"messages": answer["messages"]}))
        self._previews.learn(session, history, proposal)
