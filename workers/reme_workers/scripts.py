"""The Lua scripts: every change of a job is one of them, so that nobody ever sees half of it.

Each stands in a file of its own in `lua/`, behind `prelude.lua`. Times come from the server's clock. Each does no
harm when it is run twice with the same arguments, which happens when its answer got lost. A script is sent by its
hash, and as text when the server does not know it, for instance since it was restarted.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha1
from importlib.resources import files
from typing import Any

from redis.asyncio import Redis
from redis.exceptions import NoScriptError


@dataclass(frozen=True, slots=True)
class Script:
    """One script.

    Attributes:
        text: its source, prelude included.
        digest: how the server names it.
    """

    text: str
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        # The name that EVALSHA demands; it protects nothing.
        object.__setattr__(self, "digest", sha1(self.text.encode(), usedforsecurity=False).hexdigest())

    async def run(self, client: Redis, keys: Sequence[str], arguments: Sequence[str | bytes]) -> Any:
        """Run it and return its answer as bytes, numbers, lists and null."""
        given: list[Any] = [*keys, *arguments]
        try:
            return await client.evalsha(self.digest, len(keys), *given)
        except NoScriptError:
            return await client.eval(self.text, len(keys), *given)

    async def run_together(
        self, client: Redis, runs: Sequence[tuple[Sequence[str], Sequence[str | bytes]]]
    ) -> list[Any]:
        """Run it several times in one round trip, each with its own keys and arguments; answers as of `run`, in order.

        Each run happens, or all of this is done again, which does no harm.
        """
        if len(runs) == 1:
            return [await self.run(client, *runs[0])]
        pipeline = client.pipeline(transaction=False)
        for keys, arguments in runs:
            given: list[Any] = [*keys, *arguments]
            pipeline.evalsha(self.digest, len(keys), *given)
        answers = await pipeline.execute(raise_on_error=False)
        failure = next((answer for answer in answers if isinstance(answer, Exception)), None)
        if isinstance(failure, NoScriptError):
            return [await self.run(client, *run) for run in runs]
        if failure is not None:
            raise failure
        return answers


def _load(name: str) -> Script:
    sources = files(__package__) / "lua"
    return Script("\n".join((sources / f"{part}.lua").read_text("utf-8") for part in ("prelude", name)))


CREATE = _load("create")
CANCEL = _load("cancel")
START = _load("start")
RENEW = _load("renew")
RELEASE = _load("release")
PLANNED = _load("planned")
SCORED = _load("scored")
DECIDING = _load("deciding")
FINISH = _load("finish")
FORGET = _load("forget")
TIME_OUT = _load("time_out")
REPORT_LAPSED = _load("report_lapsed")
REPORT_LATE = _load("report_late")
REPORT_UNCLAIMED = _load("report_unclaimed")
TIDY = _load("tidy")
DUE = _load("due")
OLDEST = _load("oldest")
EXPIRE = _load("expire")
