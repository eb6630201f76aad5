"""Every mistake ends in a sentence that names the key, never in a traceback."""

import re
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

import pytest

from reme_compact.cli import main as main_module
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main
from reme_compact.contract.errors import ServiceUnavailableError, TokenCounterError

MESSAGES = 'messages=[{"role":"user","content":[]}]'

MISTAKES = [
    ([], "Usage:"),
    (["strat"], "did you mean 'start'?"),
    (["compact-context"], "did you mean 'compact_context'?"),
    (["\x1b[31m"], r"\x1b[31m"),
    (["help", "strat"], "did you mean 'start'?"),
    (["compact_context"], "messages: is required"),
    (["compact_context", "goal"], "goal=VALUE"),
    (["compact_context", "goal=a", "goal=b"], "goal: is given twice"),
    (["compact_context", "gaol=a"], "did you mean 'goal'?"),
    (["compact_context", "prot=80"], "did you mean 'port'?"),
    (["compact_context", MESSAGES, "port=http"], "port: must be"),
    (["compact_context", MESSAGES, "host=http://x", "port=1"], "host: give a name"),
    (["compact_context", MESSAGES, "timeout=soon", "host=a", "port=1"], "timeout: must be a number"),
    (["compact_context", MESSAGES, "timeout=0", "host=a", "port=1"], "timeout: must be a number"),
    (["compact_context", MESSAGES, "timeout=1e999", "host=a", "port=1"], "timeout: the number is too large"),
    (["compact_context", MESSAGES, "output=yaml"], "output: must be"),
    (["compact_context", "messages=hello"], "messages: must be a JSON list"),
    (["compact_context", "messages=@"], "messages: the name of the file is missing"),
    (["compact_context", "messages=@missing.json"], "messages: there is no file 'missing.json'"),
    (["compact_context", "messages=@."], "messages: '.' is a folder"),
    (["compact_context", "messages=@latin"], "messages: file 'latin' is not valid UTF-8"),
    (["compact_context", "request=@latin"], "request: file 'latin' is not valid UTF-8"),
    (["compact_context", MESSAGES, "options.drop_threshold=true"], "options.drop_threshold: must be a number"),
    (["start", "job=compact_context"], "messages: is required"),
    (["start", "job=compact", MESSAGES], "'decision_compaction' has no job 'compact'; it has 'compact_context'."),
    (["start", "config=default", "job=compact_context", MESSAGES], "'default' has no job 'compact_context'; it has no"),
    (["start", "goal=x"], "goal: is for a job; add job=compact_context"),
    (["start", "output=json"], "output: is for a job"),
    (["start", "port=80"], "did you mean 'service.port'?"),
    (["start", "servce.port=80"], "did you mean 'service'?"),
    (["start", "service.prot=80"], "service.prot: unknown key; did you mean 'port'?"),
    (["start", "service.port=many"], "service.port: "),
    (["start", "service=1"], "service: "),
    (["start", "config=nowhere"], "config: There is no preset named 'nowhere'"),
    (["start", "config="], "config: There is no preset named ''"),
    (["start", "config=./nowhere.yaml"], "config: There is no preset file nowhere.yaml"),
    (["compact_context", MESSAGES, "config=nowhere"], "config: There is no preset named 'nowhere'"),
    (["-v"], "there is no flag '-v' here; choose --help or --version"),
    (["goal=s3cret"], "a command is missing before 'goal=...'"),
    (["examples/x.json"], "reme compact_context request=@examples/x.json"),
    ([f"archive/{'a' * 32}/{'b' * 64}"], f"did you mean this?\n  reme recover archive/{'a' * 32}/{'b' * 64}"),
    (["recovr"], "did you mean 'recover'?"),
    (["archive", "examples/x"], "'examples/x' is nothing to do with an archive"),
    (["mine.yml"], "reme start config=mine.yml"),
    (["compact_context", "-v"], "there is no flag '-v'; all keys are written KEY=VALUE."),
    (["compact_context", "--verbose"], "there is no flag '--verbose'"),
    (["compact_context", "--gaol", "x"], "there is no flag '--gaol'; did you mean goal=VALUE?"),
    (["compact_context", "examples/x.json"], "did you mean request=@examples/x.json?"),
    (["compact_context", "request=examples/x.json"], "did you mean request=@examples/x.json?"),
    (["compact_context", "messages=latin"], "did you mean messages=@latin?"),
    (["start", "decision_compaction"], "did you mean config=decision_compaction?"),
    (["start", "service.port=!!bool maybe"], "service.port: is not valid YAML or JSON (tags such as"),
    (["start", "service.port=!!int "], "service.port: is not valid YAML or JSON (tags such as"),
    (["start", "service.port={!!str [a]: 1}"], "service.port: is not valid YAML or JSON (tags such as"),
    (["start", "service=&a {port: *a}"], "service: is not valid YAML or JSON (an alias stands"),
    (["start", f"config={'a' * 300}.yaml"], "config: There is no preset file "),
    (["start", "config=~nobody-of-this-name/x.yaml"], "config: There is no preset file ~nobody-of-this-name/x.yaml."),
    (["compact_context", MESSAGES, "config=~nobody-of-this-name/x.yaml"], "config: There is no preset file ~nobody"),
    (["compact_context", "messages=@~nobody-of-this-name/x.json"], "messages: file '~nobody-of-this-name/x.json'"),
    (["start", "config=@mine.yaml"], "did you mean config=mine.yaml?"),
    (["start", "job=compact_context", MESSAGES, "gaol=x"], "did you mean 'goal'?"),
    (["start", "job=compact_context", MESSAGES, "timeout=3"], "did you mean 'options.total_timeout_seconds'?"),
]


@pytest.mark.parametrize(("words", "named"), MISTAKES, ids=[" ".join(words) for words, _ in MISTAKES])
def test_a_mistake_is_explained(
    words: list[str], named: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    assert main(words) == ExitCode.USAGE
    written, complaint = capsys.readouterr()
    assert named in complaint
    assert "Traceback" not in complaint
    assert "s3cret" not in complaint
    assert "?." not in complaint
    assert "? of " not in complaint
    assert written == ""


LONG = "a" * 100_000


@pytest.mark.parametrize(
    "words",
    [
        [LONG],
        [f"{LONG}=1"],
        ["help", LONG],
        ["compact_context", f"{LONG}=1"],
        ["compact_context", f"{LONG}=1", f"{LONG}=2"],
        ["compact_context", f"options.{LONG}=1"],
        ["compact_context", f"goal.{LONG}=1"],
        ["compact_context", f"source_refs.{LONG}=-", f"source_refs.{LONG}2=-"],
        ["compact_context", f"source_refs.{LONG}=@missing"],
        ["compact_context", f"messages=@{LONG}"],
        ["compact_context", MESSAGES, f"config={LONG}"],
        ["start", f"{LONG}=1"],
        ["start", f"source_refs.{LONG}=1"],
        ["start", f"service.{LONG}=1"],
        ["start", f"jobs.compact_context.{LONG}=1"],
        ["start", f"config={LONG}/x.yaml"],
        ["start", f"job={LONG}", MESSAGES],
    ],
)
def test_a_long_name_is_cut_and_what_is_wrong_with_it_still_said(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == ExitCode.USAGE
    complaint = capsys.readouterr().err
    assert len(complaint) < 1000
    assert re.search("unknown|twice|no keys|only one|There is no|there is no|has no|is for a|too long|comma", complaint)


def test_many_mistakes_in_a_preset_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text("".join(f"key_{number}: 1\n" for number in range(22)))
    assert main(["start", "config=mine.yaml"]) == ExitCode.FAILURE
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 21
    assert "key_19: unknown key" in lines[19]
    assert lines[20] == "  and 2 more problems"


def test_a_mistake_in_a_preset_is_a_typed_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.yaml").write_text("extends: decision_compaction\nservice: {prot: 1}\nhealht: {}\n")
    assert main(["start", "config=mine.yaml", "service.port=0"]) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert complaint.startswith("reme: invalid_configuration: ")
    assert "mine.yaml" in complaint
    assert "did you mean 'port'?" in complaint
    assert "did you mean 'health'?" in complaint


@pytest.mark.parametrize("override", ["service.port=0", "jobs.compact_context.description=x"])
def test_a_mistake_in_a_file_is_not_the_command_line_s(
    override: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text("extends: decision_compaction\njobs: {compact_context: {token_counter: x}}\n")
    assert main(["start", "config=mine.yaml", override]) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert complaint.startswith("reme: invalid_configuration: mine.yaml: jobs.compact_context.token_counter: ")
    assert "override" not in complaint


def test_a_wrong_override_is_the_command_line_s_although_it_makes_up_for_the_environment(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.yaml").write_text("extends: decision_compaction\nservice: {host: '${HOST_THAT_IS_NOT_SET}'}\n")
    assert main(["start", "config=mine.yaml", "service.host=::1", "service.port=-1"]) == ExitCode.USAGE
    assert "reme: usage_error: service.port: must be at least 0." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "has"),
    [("", "it has no jobs."), ("jobs: {tidy: {step: compact_context_step, as_decision_model: m}}", "'tidy'")],
)
def test_a_preset_without_the_service_s_job_is_said_so(
    text: str, has: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = "components: {as_decision_model: {m: {backend: local}}}"
    (tmp_path / "mine.yaml").write_text(f"extends: default\n{model}\n{text}\n")
    assert main(["start", "config=mine.yaml"]) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert "The preset 'mine.yaml' has no job 'compact_context'" in complaint
    assert has in complaint
    assert "The service needs exactly that job." in complaint


@pytest.mark.parametrize(
    ("words", "exit_code"),
    [
        (["options.preview_chars=many"], ExitCode.USAGE),
        (["options.previewchars=1"], ExitCode.USAGE),
        (["source_refs=@missing.json"], ExitCode.USAGE),
        (["options.preview_chars=-1"], ExitCode.FAILURE),
        (['options={"preview_chars":"1"}'], ExitCode.FAILURE),
        (['messages=[{"role":"nobody","content":[]}]'], ExitCode.FAILURE),
    ],
)
def test_what_cannot_be_read_and_what_is_refused_differ(
    words: list[str], exit_code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = [] if words[0].startswith("messages=") else [MESSAGES]
    assert main(["start", "job=compact_context", *messages, *words]) == exit_code
    complaint = capsys.readouterr().err
    assert not re.search("Input should|valid dictionary|instance of|Value error", complaint)


@pytest.mark.parametrize(
    ("outcome", "exit_code"),
    [
        (TokenCounterError("It raised."), ExitCode.FAILURE),
        (ServiceUnavailableError("Nobody is there."), ExitCode.UNREACHABLE),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
    ],
)
def test_exit_codes_tell_failures_apart(
    outcome: BaseException, exit_code: ExitCode, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(_: Sequence[str]) -> ExitCode:
        raise outcome

    monkeypatch.setattr(main_module, "import_module", lambda _: SimpleNamespace(run=run))
    assert main(["compact_context"]) == exit_code


def test_the_version_is_the_distribution_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == ExitCode.PROPOSAL
    assert capsys.readouterr().out == f"reme {version('reme-compact')}\n"


def test_words_default_to_those_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["reme", "--version"])
    assert main() == ExitCode.PROPOSAL
    assert capsys.readouterr().out.startswith("reme ")


@pytest.mark.parametrize(
    ("words", "package", "named"),
    [
        (["compact_context", MESSAGES, "output=report"], "rich", "output=json"),
        (["start", "service.port=0"], "uvicorn", "reme-compact[service]"),
    ],
)
def test_a_missing_extra_is_named(
    words: list[str],
    package: str,
    named: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, "reme_compact.service.server", raising=False)
    assert main(words) == ExitCode.FAILURE
    complaint = capsys.readouterr().err
    assert "missing_extra" in complaint
    assert named in complaint
