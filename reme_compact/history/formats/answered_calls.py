"""The rule that Chat Completions made common: calls are answered in messages of their own, directly after."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from reme_compact.history.formats.protocol import Violation

EVERY_CALL_ANSWERED = "every_call_answered"
"""Rule: each call of a message is answered before any message that is not an answer."""

CALL_ANSWERED_ONCE = "call_answered_once"
"""Rule: a call has one answer."""

RESULT_AFTER_CALL = "result_after_call"
"""Rule: an answer belongs to a call of the last message before it that is not an answer."""

UNIQUE_CALL_IDS = "unique_call_ids"
"""Rule: the calls of one message have different ids. Other messages may use them again."""


@dataclass(frozen=True, slots=True)
class CallMade:
    """A call in a message.

    Attributes:
        id: by which its answer names it; null if it has none, so that it cannot be answered.
        path: where it stands.
        may_stay_unanswered: the call never reached a tool, so nobody has to answer it.
    """

    id: str | None
    path: str
    may_stay_unanswered: bool = False


@dataclass(frozen=True, slots=True)
class AnswerGiven:
    """A message that answers a call.

    Attributes:
        call_id: the call that it names; null if it names none.
        path: where it says so.
        fault: what else is wrong with the message.
    """

    call_id: str | None
    path: str
    fault: Violation | None = None


Step: TypeAlias = Sequence[CallMade] | AnswerGiven
"""One message: the calls that it makes, often none, or the answer that it is."""


def check_answers(steps: Iterable[Step]) -> Iterator[Violation]:
    """Yield what breaks the rules of this module, in the order of the history."""
    calls: Sequence[CallMade] = ()
    answers: list[AnswerGiven] = []
    for step in steps:
        if isinstance(step, AnswerGiven):
            answers.append(step)
            continue
        yield from _check_group(calls, answers)
        calls, answers = step, []
    yield from _check_group(calls, answers)


def _check_group(calls: Sequence[CallMade], answers: Sequence[AnswerGiven]) -> Iterator[Violation]:
    yield from _check_calls(calls, {answer.call_id for answer in answers})
    made = {call.id for call in calls} - {None}
    given = Counter[str | None]()
    for answer in answers:
        given[answer.call_id] += 1
        if answer.call_id not in made:
            message = "must answer a call of the message that its group of results follows"
            yield Violation(RESULT_AFTER_CALL, answer.path, message)
        elif given[answer.call_id] > 1:
            yield Violation(CALL_ANSWERED_ONCE, answer.path, "must not answer a call that was answered before")
        if answer.fault is not None:
            yield answer.fault


def _check_calls(calls: Sequence[CallMade], answered: set[str | None]) -> Iterator[Violation]:
    seen: set[str | None] = set()
    for call in calls:
        if call.id in seen and call.id is not None:
            yield Violation(UNIQUE_CALL_IDS, call.path, "must have an id that no other call of the message has")
        elif not call.may_stay_unanswered and (call.id is None or call.id not in answered):
            yield Violation(EVERY_CALL_ANSWERED, call.path, "must be answered before any other message")
        seen.add(call.id)
