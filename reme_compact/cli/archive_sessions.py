"""The session that a command about an archive means, and what to say if the archive does not know it."""

from collections.abc import Mapping

from reme_compact.archive.archive import Archive
from reme_compact.archive.reference import Session
from reme_compact.cli.printable import shorten
from reme_compact.cli.usage import UsageError, sentence
from reme_compact.contract.errors import ArchiveError, InvalidRequestError
from reme_compact.contract.validation import unknown_name

_NAMED_AT_MOST = 5


class SessionNotFoundError(ArchiveError):
    """The archive keeps nothing for this session."""

    code = "session_not_found"


def session_given(given: Mapping[str, str]) -> Session | None:
    """Return the session that is named; null if none is.

    Raises:
        UsageError: an owner is named alone, or the session cannot be one.

    """
    if "session" not in given:
        if "owner" in given:
            raise UsageError("owner: whose session? Name it with session=.")
        return None
    try:
        return Session(given["session"], given.get("owner", ""))
    except InvalidRequestError as error:
        raise UsageError(sentence(error.message)) from None


def unknown_session(archive: Archive, session: Session) -> SessionNotFoundError:
    """Say that the archive keeps nothing for a session, and which one may be meant."""
    whose = f" of the owner '{_shown(session.owner)}'" if session.owner else " without an owner"
    text = f"The archive keeps nothing for the session '{_shown(session.name)}'{whose}."
    known = [record.session for record in archive.sessions().sessions]
    owners = [one.owner for one in known if one.name == session.name]
    if owners:
        named = ", ".join(f"owner '{_shown(owner)}'" if owner else "no owner" for owner in owners[:_NAMED_AT_MOST])
        return SessionNotFoundError(f"{text} It keeps one of this name with {named}.")
    names = list(dict.fromkeys(one.name for one in known))
    hint = unknown_name("session", session.name, names)
    if hint.endswith("?"):
        return SessionNotFoundError(f"{text} {hint.partition('; ')[2].capitalize()}")
    return SessionNotFoundError(f"{text} All that it knows are listed by `reme archive list`.")


def _shown(name: str) -> str:
    return shorten(name, 80)
