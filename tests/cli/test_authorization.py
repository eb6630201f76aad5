import pytest
from scripted_service import JOB_ID, ScriptedService, job_document, problem

from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main
from reme_compact.client.authorization import authorization
from reme_compact.contract.errors import ConfigurationError

SECRET = "reme_s3cret-s3cret-s3cret"


@pytest.mark.parametrize(
    ("value", "headers"),
    [
        (None, {}),
        ("", {}),
        (" \n", {}),
        (SECRET, {"Authorization": f"Bearer {SECRET}"}),
        (f"{SECRET}\n", {"Authorization": f"Bearer {SECRET}"}),
    ],
)
def test_the_key_of_the_environment_is_sent(value: str | None, headers: dict[str, str]) -> None:
    assert authorization({} if value is None else {"REME_API_KEY": value}) == headers


@pytest.mark.parametrize("value", ["s3cret s3cret", "s3cret\r\nX: y", "s3crét", "s3cret\udcff"])
def test_what_cannot_be_a_key_is_not_sent_and_not_told(value: str) -> None:
    with pytest.raises(ConfigurationError, match="REME_API_KEY") as caught:
        authorization({"REME_API_KEY": value})
    assert "s3cr" not in caught.value.message


@pytest.mark.parametrize(
    "command", ["jobs", f"jobs {JOB_ID}", f"result {JOB_ID}", f"cancel {JOB_ID}", f"watch {JOB_ID}"]
)
def test_every_call_carries_it(command: str, scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REME_API_KEY", SECRET)
    scripted.answers(f"GET /jobs/{JOB_ID}", 200, job_document())
    main([*command.split(), "host=127.0.0.1", f"port={scripted.port}"])
    assert {asked.headers["authorization"] for asked in scripted.asked} == {f"Bearer {SECRET}"}


@pytest.mark.parametrize(
    ("secret", "advice"),
    [("", "Put a key that this service knows into the environment variable REME_API_KEY"), (SECRET, "is not one that")],
)
@pytest.mark.parametrize("body", [problem(401, "unauthorized"), b"Unauthorized"], ids=["problem", "gateway"])
def test_a_refused_key_is_explained(
    secret: str,
    advice: str,
    body: object,
    scripted: ScriptedService,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("REME_API_KEY", secret)
    scripted.answers("GET /jobs", 401, body)
    assert main(["jobs", "host=127.0.0.1", f"port={scripted.port}", "output=table"]) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert complaint.startswith("reme: unauthorized: ")
    assert advice in complaint
    assert "s3cret" not in complaint


def test_a_key_is_no_argument(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jobs", "api_key=s3cret"]) == ExitCode.USAGE
    assert "s3cret" not in capsys.readouterr().err
