import json
from email.message import Message
from typing import Any

import pytest

from reme_compact.cli import compact_context
from reme_compact.cli.address import Address
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.client.answers import Answer

MESSAGES = 'messages=[{"role":"user","content":[]}]'


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ([], 60),
        (["options.total_timeout_seconds=5"], 35),
        (["timeout=2"], 2),
        ([f'options={{"total_timeout_seconds":{10**400}}}'], 60),
        (["options.total_timeout_seconds=-1"], 60),
        (['options={"total_timeout_seconds":true}'], 60),
        (['options={"total_timeout_seconds":"x"}'], 60),
        (['request={"options":[]}'], 60),
    ],
)
def test_a_call_waits_longer_than_the_scoring_may_take(
    words: list[str],
    seconds: float,
    response: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    waited: list[float] = []

    def answer(address: Address, *_: Any, timeout_seconds: float, **__: Any) -> Answer:
        waited.append(timeout_seconds)
        return Answer(address, 200, Message(), response)

    monkeypatch.setattr(compact_context, "call_service", answer)
    assert compact_context.run([MESSAGES, "port=1", "host=a", *words]) == ExitCode.PROPOSAL
    assert waited == [seconds]
    assert json.loads(capfd.readouterr().out) == response
