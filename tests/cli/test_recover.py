"""`reme recover`: exactly the original on standard output, and everything else on standard error."""

import json
import shlex
import socket
import sys
from pathlib import Path

import pytest
from kept_originals import AWKWARD, archive_at, keep, serves_pieces
from scripted_service import ScriptedService, problem
from terminal import Terminal

from reme_compact.archive.archive import Archive
from reme_compact.archive.names import text_name
from reme_compact.archive.reference import parse_reference
from reme_compact.cli.exit_codes import ExitCode
from reme_compact.cli.main import main

UNKNOWN = f"archive/{'a' * 32}/{'b' * 64}"
LOG = "".join(f"line {number:05}: {'ERROR' if number % 1000 == 7 else 'fine'}\n" for number in range(5_000))


@pytest.fixture
def archive(tmp_path: Path) -> Archive:
    return archive_at(tmp_path / "archive")


@pytest.fixture(params=["service", "archive"])
def place(request: pytest.FixtureRequest, scripted: ScriptedService) -> tuple[str, ...]:
    """The words that say where to read: over a service, or in the archive itself."""
    if request.param == "archive":
        return ("archive=archive",)
    return ("host=127.0.0.1", f"port={scripted.port}")


def kept(archive: Archive, scripted: ScriptedService, text: object) -> str:
    reference = keep(archive, text)
    serves_pieces(scripted, archive, reference)
    return reference


def test_one_piece_and_how_to_go_on(
    place: tuple[str, ...], archive: Archive, scripted: ScriptedService, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    reference = kept(archive, scripted, LOG)
    read = b""
    words = ["recover", f"ref={reference}", "max_chars=16000", *place]
    for _ in range(20):
        assert main(words) == ExitCode.PROPOSAL
        text, said = capfdbinary.readouterr()
        read += text
        if not said:
            break
        _, command = said.decode().splitlines()
        words = shlex.split(command)[1:]
    assert read.decode() == LOG
    assert len(text) < 16_000


def test_what_is_said_about_the_rest(archive: Archive, capfd: pytest.CaptureFixture[str]) -> None:
    reference = keep(archive, LOG)
    assert main(["recover", reference, "offset=17", "max_chars=10", "archive=archive"]) == ExitCode.PROPOSAL
    assert capfd.readouterr().err == (
        f"reme: this was 17 to 27 of {len(LOG):,} characters; to go on:\n"
        f"  reme recover ref={reference} offset=27 max_chars=10 archive=archive\n"
    )


@pytest.mark.parametrize(
    "output", [AWKWARD, "", LOG, [{"type": "text", "text": "one"}, {"type": "text", "text": "\udfff"}]], ids=range(4)
)
def test_all_of_it_byte_for_byte(
    output: object,
    place: tuple[str, ...],
    archive: Archive,
    scripted: ScriptedService,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    reference = kept(archive, scripted, output)
    assert main(["recover", f"ref={reference}", "all=true", *place]) == ExitCode.PROPOSAL
    text, said = capfdbinary.readouterr()
    assert text == archive.storage.read(text_name(parse_reference(reference).sha256))
    assert said == b""


def test_the_rest_from_an_offset(
    place: tuple[str, ...], archive: Archive, scripted: ScriptedService, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    reference = kept(archive, scripted, LOG)
    assert main(["recover", f"ref={reference}", "all=true", "offset=70000", *place]) == ExitCode.PROPOSAL
    assert capfdbinary.readouterr().out.decode() == LOG[70_000:]


def test_json_is_the_answer(
    place: tuple[str, ...], archive: Archive, scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    reference = kept(archive, scripted, "abc\ud800def")
    assert main(["recover", reference, "offset=1", "max_chars=3", "output=json", *place]) == ExitCode.PROPOSAL
    answer, said = capfd.readouterr()
    assert json.loads(answer) == {
        "ref": reference,
        "text": "bc\ud800",
        "offset": 1,
        "next_offset": 4,
        "total_chars": 7,
        "complete": False,
    }
    assert said == ""


def test_json_of_all(
    place: tuple[str, ...], archive: Archive, scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    reference = kept(archive, scripted, LOG)
    assert main(["recover", reference, "all=true", "output=json", *place]) == ExitCode.PROPOSAL
    answer = json.loads(capfd.readouterr().out)
    assert (answer["text"], answer["complete"], answer["next_offset"]) == (LOG, True, None)


def test_a_terminal_is_not_steered(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = keep(archive, "red\x1b[31m\nand more")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["recover", reference, "archive=archive"]) == ExitCode.PROPOSAL
    assert terminal.text() == "red\\x1b[31m\nand more\n"


def test_what_a_service_reads_back_wrong_is_not_shown(
    archive: Archive, scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    reference = keep(archive, "original")
    serves_pieces(scripted, archive, reference, text="tampered")
    where = ("host=127.0.0.1", f"port={scripted.port}")
    assert main(["recover", reference, "all=true", *where]) == ExitCode.FAILURE
    text, said = capfd.readouterr()
    assert text == ""
    assert said.startswith("reme: archive_damaged: What was read is not the original")


def test_a_damaged_original_is_not_shown(archive: Archive, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reference = keep(archive, "original")
    (tmp_path / "archive" / text_name(parse_reference(reference).sha256)).write_bytes(b"tampered")
    for words in ([], ["all=true"], ["grep=tampered"]):
        assert main(["recover", reference, "archive=archive", *words]) == ExitCode.FAILURE
        text, said = capfd.readouterr()
        assert text == ""
        assert said.startswith("reme: archive_damaged: ")


def test_an_offset_after_the_end_is_told_where_the_end_is(archive: Archive, capfd: pytest.CaptureFixture[str]) -> None:
    reference = keep(archive, "abc")
    assert main(["recover", reference, "offset=4", "archive=archive"]) == ExitCode.FAILURE
    assert "offset: must be a whole number from 0 to 3" in capfd.readouterr().err
    assert main(["recover", reference, "offset=3", "archive=archive"]) == ExitCode.PROPOSAL
    assert capfd.readouterr() == ("", "reme: nothing follows: the original ends at offset 3\n")


@pytest.mark.parametrize(
    ("code", "status", "advice"),
    [
        ("reference_not_found", 404, "REME_API_KEY"),
        ("not_found", 404, "it is older than this command line"),
        ("method_not_allowed", 405, "it is older than this command line"),
        ("archive_damaged", 500, "reme archive verify"),
    ],
)
def test_a_refusal_says_what_to_do(
    code: str, status: int, advice: str, scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    scripted.answers(f"GET /{UNKNOWN}", status, problem(status, code))
    assert main(["recover", UNKNOWN, "host=127.0.0.1", f"port={scripted.port}"]) == ExitCode.FAILURE
    said = capfd.readouterr().err
    assert said.startswith(f"reme: {code}: So it is.")
    assert advice in said


def test_the_key_of_the_service_is_sent(
    archive: Archive, scripted: ScriptedService, monkeypatch: pytest.MonkeyPatch
) -> None:
    reference = kept(archive, scripted, "abc")
    monkeypatch.setenv("REME_API_KEY", "reme_of_a_test")
    assert main(["recover", reference, "host=127.0.0.1", f"port={scripted.port}"]) == ExitCode.PROPOSAL
    (asked,) = scripted.asked
    assert asked.headers["authorization"] == "Bearer reme_of_a_test"
    assert asked.path == f"/{reference}?offset=0&max_chars=8192"


def test_an_unknown_query_key_is_shown_as_a_key_of_the_command(
    scripted: ScriptedService, capfd: pytest.CaptureFixture[str]
) -> None:
    problems = [{"path": "query.offset", "message": "must be at most 3"}]
    scripted.answers(f"GET /{UNKNOWN}", 422, problem(422, "invalid_request", "query.offset: must", problems=problems))
    assert main(["recover", UNKNOWN, "host=127.0.0.1", f"port={scripted.port}"]) == ExitCode.FAILURE
    assert "query." not in capfd.readouterr().err


def test_an_archive_without_the_session_has_no_such_reference(
    archive: Archive, capfd: pytest.CaptureFixture[str]
) -> None:
    keep(archive, "abc")
    assert main(["recover", UNKNOWN, "archive=archive", "output=json"]) == ExitCode.FAILURE
    assert json.loads(capfd.readouterr().err)["code"] == "reference_not_found"


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ([], "ref: which original?"),
        (["ref=archive/x/y"], "ref: This is not a reference into the archive"),
        ([UNKNOWN, UNKNOWN], "ref: is given twice"),
        ([UNKNOWN, "offset=-1"], "offset: must be a whole number from 0"),
        ([UNKNOWN, "offset=x"], "offset: must be a whole number"),
        ([UNKNOWN, "max_chars=0"], "max_chars: must be a whole number from 1 to 16384"),
        ([UNKNOWN, "max_chars=16385"], "max_chars: must be a whole number from 1 to 16384"),
        ([UNKNOWN, "max_chars=5", "all=true"], "max_chars: is for one piece"),
        ([UNKNOWN, "all=yes"], "all: must be true or false"),
        ([UNKNOWN, "grep=a", "max_chars=3"], "max_chars: is for reading on"),
        ([UNKNOWN, "grep=a", "all=true"], "all: is for reading on"),
        ([UNKNOWN, "output=table"], "output: must be text or json"),
        ([UNKNOWN, "ofset=3"], "ofset: unknown key; did you mean 'offset'?"),
        ([UNKNOWN, "archive=nowhere"], "archive: there is no directory '"),
        ([UNKNOWN, "archive=nothing://x"], "archive: "),
        ([UNKNOWN, "archive=.", "port=80"], "port: is for a service"),
        ([UNKNOWN, "timeout=0"], "timeout: must be a number of seconds"),
        ([UNKNOWN, "config=nowhere"], "config: There is no preset named 'nowhere'"),
    ],
)
def test_a_mistake_is_explained_before_anything_is_read(
    words: list[str], named: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["recover", *words]) == ExitCode.USAGE
    text, said = capfd.readouterr()
    assert text == ""
    assert named in said
    assert len(said) < 600
    assert "reme recover --help" in said


def test_nobody_there_is_unreachable(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        where = ("host=127.0.0.1", f"port={silent.getsockname()[1]}")
        assert main(["recover", UNKNOWN, *where]) == ExitCode.UNREACHABLE
    assert "No service answers at" in capfd.readouterr().err
