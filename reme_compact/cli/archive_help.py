"""What `reme help` says about the archive and what is read back from it."""

from reme_compact.cli.help_layout import exit_codes, pairs

RECOVER = """\
Usage: reme recover ref=REFERENCE [key=value ...]

Reads back the original that a preview stands for: from a running service, or with archive= out of the archive itself.
The reference is what the last line of the preview names; the whole line may be given as well. SESSION and CONTENT
below stand for the digits in it.

Examples:

  reme recover ref=archive/SESSION/CONTENT
  reme recover ref=archive/SESSION/CONTENT offset=8192
  reme recover ref=archive/SESSION/CONTENT all=true > original.txt
  reme recover ref=archive/SESSION/CONTENT grep='ERROR|Traceback'
  reme recover ref=archive/SESSION/CONTENT archive=./archive

Keys:
{keys}

Output: the text and nothing else, byte for byte; on a terminal, characters that could steer it are spelled out. How to
go on if there is more goes to standard error. With all=true and grep= the whole is held against the hash in its
reference before any of it is written. Matching lines are written as OFFSET:LINE, and offset=OFFSET reads on there.

{key_of_the_service}

Exit codes (0: it was read, also if no line matched, which standard error then says):
{exit_codes}"""

ARCHIVE = """\
Usage: reme archive list [session=NAME [owner=KEY]]
       reme archive stat ref=REFERENCE
       reme archive delete session=NAME [owner=KEY] [dry_run=true]
       reme archive verify [session=NAME [owner=KEY]]
       reme archive gc [dry_run=true] [older_than=SECONDS]

Looks after the archive in which originals are kept. Nothing in it is ever removed but by these commands. `delete`
removes a session, and the texts that no other session claims; `gc` removes texts that no session claims at all, and
what interrupted writes left; `verify` reads everything and names what is damaged.

Examples:

  reme archive list
  reme archive verify archive=./archive
  reme archive gc dry_run=true

Keys:
{keys}

list counts a text that several calls of a session had as their result once in CHARACTERS, and each call in ENTRIES.

Exit codes (0: it is done; 1: also if something is damaged):
{exit_codes}"""

_KEY = "A service that wants an API key gets the one in the environment variable REME_API_KEY."


def recover_help() -> str:
    """Return the help of `reme recover`."""
    from reme_compact.cli.recover import RECOVER_KEYS  # noqa: PLC0415

    return RECOVER.format(keys=pairs(RECOVER_KEYS), key_of_the_service=_KEY, exit_codes=exit_codes())


def archive_help() -> str:
    """Return the help of `reme archive`."""
    from reme_compact.cli.archive import KEYS  # noqa: PLC0415

    return ARCHIVE.format(keys=pairs(KEYS), exit_codes=exit_codes())
