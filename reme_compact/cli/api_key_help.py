"""What `reme help api_key` says."""

from reme_compact.cli.help_layout import exit_codes, pairs

API_KEY = """\
Usage: reme api_key [name=NAME] [key=-]

Makes an API key, prints it once, and says what to put into the preset so that the service knows it. The service keeps
a hash only. With any key configured, every request but GET /health needs one, each key sees only its own jobs
and reads back only its own originals, and the service may listen on addresses that other machines can reach.

Examples:

  reme api_key name=team
  reme api_key name=team key=- < key.txt

Keys:
{keys}

Exit codes (0: the key was made):
{exit_codes}"""


def api_key_help() -> str:
    """Return the help of `reme api_key`."""
    from reme_compact.cli.api_key import KEYS  # noqa: PLC0415

    return API_KEY.format(keys=pairs(KEYS), exit_codes=exit_codes())
