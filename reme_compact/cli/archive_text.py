"""What commands about an archive say to people: tables, counts, removals, damage."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime

from reme_compact.archive.envelope import Envelope
from reme_compact.archive.retention import Removals
from reme_compact.archive.session_record import SessionRecord
from reme_compact.archive.verification import Verification
from reme_compact.cli.printable import printable, shorten

_LONGEST_NAME = 40
_PLURALS = {"entry": "entries"}


def counted(number: int, noun: str) -> str:
    """Write a number and what it counts, as in "1 entry", "1,200 entries"."""
    return f"{number:,} {noun if number == 1 else _PLURALS.get(noun, f'{noun}s')}"


def characters_of(envelopes: Iterable[Envelope]) -> int:
    """Return the length of all originals; of several with the same text, that text counts once."""
    return sum({envelope.sha256: envelope.characters for envelope in envelopes}.values())


def sessions_text(sessions: Sequence[tuple[SessionRecord, Sequence[Envelope]]], place: str) -> str:
    """Return a line for each session and the totals; `place` follows "the archive"."""
    if not sessions:
        return f"There are no sessions in the archive{place}."
    rows = [
        (
            printable(record.session.name),
            printable(record.session.owner) or "-",
            f"{len(envelopes):,}",
            f"{characters_of(envelopes):,}",
            written(record.created_at),
        )
        for record, envelopes in sessions
    ]
    totals = (
        counted(len(sessions), "session"),
        counted(sum(len(envelopes) for _, envelopes in sessions), "entry"),
        counted(sum(characters_of(envelopes) for _, envelopes in sessions), "character"),
    )
    return f"{_table(('SESSION', 'OWNER', 'ENTRIES', 'CHARACTERS', 'CREATED'), rows)}\n\n{', '.join(totals)}"


def entries_text(envelopes: Sequence[Envelope]) -> str:
    """Return a line for each entry of a session, and the totals."""
    rows = [
        (
            shorten(envelope.tool, _LONGEST_NAME),
            shorten(envelope.call_id, _LONGEST_NAME),
            f"{envelope.characters:,}",
            written(envelope.created_at),
            str(envelope.reference),
        )
        for envelope in envelopes
    ]
    totals = f"{counted(len(envelopes), 'entry')}, {counted(characters_of(envelopes), 'character')}"
    return f"{_table(('TOOL', 'CALL', 'CHARACTERS', 'CREATED', 'REFERENCE'), rows)}\n\n{totals}"


def original_text_facts(reference: str, envelopes: Sequence[Envelope]) -> str:
    """Return what is known about one original, a fact on each line, then the calls that had it as their result."""
    first = envelopes[0]
    facts = {
        "reference": reference,
        "session": printable(first.session.name),
        "owner": printable(first.session.owner) or "-",
        "characters": f"{first.characters:,}",
        "bytes": f"{first.byte_count:,}",
    }
    lines = [f"{name:<10}  {fact}" for name, fact in facts.items()]
    rows = [
        (printable(envelope.tool), printable(envelope.call_id), envelope.format, written(envelope.created_at))
        for envelope in envelopes
    ]
    return "\n".join([*lines, "", _table(("TOOL", "CALL", "FORMAT", "CREATED"), rows)])


def removals_text(removals: Removals) -> str:
    """Return a line for each object that was removed, or would be, with its size and why, and the totals."""
    done = "would remove" if removals.dry_run else "removed"
    lines = [
        f"{done} {printable(removal.name)} ({counted(removal.bytes, 'byte')}): {removal.reason}"
        for removal in removals.removed
    ]
    return "\n".join([*lines, *(["", removals_total(removals)] if lines else [removals_total(removals)])])


def removals_total(removals: Removals) -> str:
    """Return what all removals come to, in a sentence."""
    if removals.removed:
        total = f"{counted(len(removals.removed), 'object')}, {counted(removals.bytes, 'byte')}"
        text = f"In a dry run nothing is removed; it would be {total}." if removals.dry_run else f"Removed {total}."
    else:
        text = "There is nothing to remove."
    if removals.too_young:
        text += f" {counted(removals.too_young, 'object')} more would go, but not as young as now (older_than=)."
    return text


def verification_text(verification: Verification) -> str:
    """Return a line for everything that is damaged, and how much was read."""
    lines = [f"damaged {printable(damage.name)}: {printable(damage.message)}" for damage in verification.damages]
    read = (
        counted(verification.sessions, "session"),
        counted(verification.envelopes, "entry"),
        counted(verification.texts, "text"),
    )
    found = f"{len(lines):,} damaged" if lines else "nothing is damaged"
    return "\n".join([*lines, *([""] if lines else []), f"Read {', '.join(read)}: {found}."])


def damaged_text(names: Iterable[str]) -> str:
    """Return lines for what could not be listed, to follow a list; nothing if all could."""
    return "".join(f"\ndamaged {printable(name)}" for name in names)


def written(moment: datetime) -> str:
    """Write a time for people, in UTC."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(_aligned([headings, *rows]))


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(map(str.ljust, row, widths)).rstrip()
