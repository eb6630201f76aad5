"""The previews that a session has seen, put again into the unchanged history that a framework hands over each time."""

from collections import OrderedDict
from hashlib import sha256
from threading import Lock

from reme_compact.history.draft import Draft
from reme_compact.history.formats.opening import OpenedHistory
from reme_compact.history.pairs import Location, pair_tool_blocks
from reme_compact.history.text import result_text

_Key = tuple[str, bytes]

SESSIONS_REMEMBERED = 1_000
"""Sessions whose previews are remembered at once; the one that was used longest ago is forgotten first."""


class RememberedPreviews:
    """Previews by session, call and original text, for as long as this object lives; safe to use from many threads."""

    def __init__(self) -> None:
        self._sessions: OrderedDict[str, dict[_Key, str]] = OrderedDict()
        self._lock = Lock()

    def apply(self, session: str, history: OpenedHistory, draft: Draft) -> bool:
        """Put previews into a draft of a session's history, and tell whether there were any."""
        with self._lock:
            known = dict(self._sessions.get(session, {}))
        if not known:
            return False
        changed = False
        for at, key in _results(history):
            if (preview := known.get(key)) is not None:
                draft.replace_output(at, preview)
                changed = True
        return changed

    def learn(self, session: str, history: OpenedHistory, proposal: OpenedHistory) -> None:
        """Remember what a proposal shows instead of the results of a session's history."""
        found: dict[_Key, str] = {}
        for (message, block), key in _results(history):
            before, now = history.view[message]["content"][block], proposal.view[message]["content"][block]
            text = result_text(now)
            if text is not None and now is not before and text != result_text(before):
                found[key] = text
        with self._lock:
            self._sessions.setdefault(session, {}).update(found)
            self._sessions.move_to_end(session)
            while len(self._sessions) > SESSIONS_REMEMBERED:
                self._sessions.popitem(last=False)


def _results(history: OpenedHistory) -> list[tuple[Location, _Key]]:
    """Return where the results of a history stand, each with its call's id and the hash of its text."""
    found: list[tuple[Location, _Key]] = []
    for call in pair_tool_blocks(history.view, may_go_by_place=lambda _: True).calls:
        if call.result is None or call.result_at is None:
            continue
        text = result_text(call.result)
        if text is not None:
            found.append((call.result_at, (call.call_id, sha256(text.encode("utf-8", "surrogatepass")).digest())))
    return found
