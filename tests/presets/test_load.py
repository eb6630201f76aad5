"""Loading whole presets: packaged ones, extended ones, wrong ones."""

import re
from pathlib import Path

import pytest

from reme_compact.contract.errors import ConfigurationError
from reme_compact.contract.validation import PROBLEMS_AT_MOST
from reme_compact.presets.load import load_preset
from reme_compact.presets.schema import Preset


def _refusal(preset: str | Path, **environment: str) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_preset(preset, environment=environment)
    return caught.value.message


def test_the_packaged_preset_works_without_any_environment() -> None:
    preset = load_preset(environment={})
    model = preset.components.as_decision_model[preset.jobs["compact_context"].as_decision_model]
    assert (model.backend, model.model, model.credential.api_key) == ("local", None, None)
    assert (model.timeout, model.max_retries, model.retry_delay) == (10, 1, 0.5)
    assert set(preset.components.token_counter) == {"estimate", "o200k_base", "cl100k_base"}
    assert preset.background["expire_health"].job == "expire_health"


def test_the_packaged_default_says_what_the_schema_defaults_to() -> None:
    preset = load_preset("default", environment={})
    assert (preset.service, preset.health) == (Preset().service, Preset().health)


def test_the_environment_chooses_the_decision_model() -> None:
    model = load_preset(
        environment={
            "DECISION_MODEL_BACKEND": "agentscope",
            "DECISION_MODEL_NAME": "jev-preview",
            "DECISION_MODEL_API_KEY": "123456",
            "DECISION_MODEL_BASE_URL": "http://127.0.0.1:1",
        }
    ).components.as_decision_model["compaction"]
    assert (model.backend, model.model) == ("agentscope", "jev-preview")
    assert model.credential.api_key is not None
    assert model.credential.api_key.get_secret_value() == "123456"
    assert model.credential.base_url == "http://127.0.0.1:1"


def test_dotenv_in_the_working_directory_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DECISION_MODEL_NAME", raising=False)
    (tmp_path / ".env").write_text("DECISION_MODEL_NAME=from-file\n")
    assert load_preset().components.as_decision_model["compaction"].model == "from-file"
    monkeypatch.setenv("DECISION_MODEL_NAME", "real")
    assert load_preset().components.as_decision_model["compaction"].model == "real"


def test_text_from_the_environment_becomes_a_number_where_one_is_meant(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: default\nservice: {port: '${PORT}'}\n")
    assert load_preset(file, environment={"PORT": "8080"}).service.port == 8080
    message = _refusal(file, PORT="hidden")
    assert f"{file}: service.port:" in message
    assert "environment variable PORT" in message
    assert "hidden" not in message


def test_a_file_extends_by_name_and_by_relative_path(tmp_path: Path) -> None:
    (tmp_path / "base").mkdir()
    (tmp_path / "base" / "mine.yaml").write_text("extends: decision_compaction\nservice: {port: 1}\n")
    (tmp_path / "top.yaml").write_text("extends: base/mine.yaml\nservice: {log_format: json}\n")
    preset = load_preset(tmp_path / "top.yaml", environment={})
    assert (preset.service.port, preset.service.log_format) == (1, "json")
    assert "compact_context" in preset.jobs


def test_a_circle_of_presets_is_refused_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("extends: b.yaml\n")
    (tmp_path / "b.yaml").write_text("extends: ./a.yaml\n")
    assert "a.yaml -> b.yaml -> a.yaml" in _refusal(tmp_path / "a.yaml")


def test_a_chain_of_presets_has_an_end(tmp_path: Path) -> None:
    for number in range(30):
        (tmp_path / f"{number}.yaml").write_text(f"extends: {number + 1}.yaml\n")
    assert "more than 20 presets extend one another" in _refusal(tmp_path / "0.yaml")


def test_extending_something_unknown_names_the_file_that_does(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: defualt\n")
    message = _refusal(file)
    assert message.startswith(f"{file}: extends:")
    assert "'default'" in message
    file.write_text("extends: [default]\n")
    assert f"{file}: extends: must be" in _refusal(file)


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("servce: {}", "servce:", "'service'"),
        ("service: {prot: 1}", "service.prot:", "'port'"),
        ("service: {port: true}", "service.port:", "not true or false"),
        ("service: {port: 70000}", "service.port:", "65535"),
        ("service: {log_format: xml}", "service.log_format:", "'json'"),
        ("service: 3", "service:", "must be a mapping"),
        ("service:", "service:", "must be a mapping"),
        ("jobs: [compact_context]", "jobs:", "must be a mapping"),
        ("jobs: {compact_context: on}", "jobs.compact_context:", "must be a mapping"),
        ("components: {as_decision_model: {compaction: {credential: k}}}", "compaction.credential:", "a mapping"),
        ("background: {x: {job: expire_helth}}", "background.x.job:", "'expire_health'"),
        ("components: {as_decision_model: {compaction: {timeout: 0}}}", "compaction.timeout:", "greater than 0"),
        ("components: {as_decision_model: {compaction: {timeout: .inf}}}", "compaction.timeout:", ""),
        ("components: {as_decision_model: {compaction: {backend: agentscop}}}", "backend:", "'agentscope'"),
        ("components: {as_decision_model: {compaction: {credential: {token: x}}}}", "credential.token:", "api_key"),
        ("components: {token_counter: {mine: {backend: nothing}}}", "mine.backend:", "package.module:function"),
        ("jobs: {compact_context: {token_counter: o200k}}", "jobs.compact_context.token_counter:", "o200k_base"),
        ("jobs: {compact_context: {as_decision_model: x}}", "compact_context.as_decision_model:", "compaction"),
    ],
)
def test_a_fault_names_its_file_its_path_and_its_cure(text: str, place: str, hint: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"extends: decision_compaction\n{text}\n")
    message = _refusal(file)
    assert message.startswith(f"{file}: ")
    assert place in message
    assert hint in message


def test_a_fault_in_the_base_is_charged_to_the_base(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("service: {port: -1}\n")
    (tmp_path / "mine.yaml").write_text("extends: base.yaml\nservice: {log_format: json}\n")
    assert _refusal(tmp_path / "mine.yaml").startswith(f"{tmp_path / 'base.yaml'}: service.port:")


def test_every_fault_is_reported_at_once(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("service: {port: -1, prot: 2}\n")
    assert len(_refusal(file).splitlines()) == 2


def test_many_faults_are_counted_instead_of_spelled_out(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("".join(f"key_{number}: 1\n" for number in range(30)))
    lines = _refusal(file).splitlines()
    assert len(lines) == PROBLEMS_AT_MOST + 1
    assert lines[-1] == f"and {30 - PROBLEMS_AT_MOST} more problems"


def test_many_misshapen_places_are_counted_too(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("jobs:\n" + "".join(f"  job_{number}: 1\n" for number in range(30)))
    lines = _refusal(file).splitlines()
    assert lines[0] == f"{file}: jobs.job_0: must be a mapping of names to values"
    assert lines[-1] == f"and {30 - PROBLEMS_AT_MOST} more problems"


@pytest.mark.parametrize(
    "text", ["{name}: 1", "jobs: {{{name}: 1}}", "jobs: {{{name}: {{}}}}", "service: {{host: '${{{name}}}'}}"]
)
def test_a_long_name_is_cut(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text.format(name="a" * 900))
    message = _refusal(file)
    assert "a" * 80 in message
    assert "a" * 100 not in message


def test_what_a_later_file_hides_is_refused_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text("service: [1]\n")
    (tmp_path / "mine.yaml").write_text("extends: base.yaml\nservice: {port: 1}\n")
    assert (
        _refusal(tmp_path / "mine.yaml") == f"{tmp_path / 'base.yaml'}: service: must be a mapping of names to values"
    )


@pytest.mark.parametrize(
    "text", ["service: 3", "service: {port: -1}", "service: {port: many}", "jobs: {a: {}}", "x: 1"]
)
def test_no_fault_is_worded_by_pydantic(text: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(text)
    assert not re.search("Input should|valid dictionary|instance of|Settings|Extra inputs|Value error", _refusal(file))


def test_a_key_never_shows() -> None:
    secret = "sk-hidden key"
    message = _refusal("decision_compaction", DECISION_MODEL_API_KEY=secret)
    assert "credential.api_key: must be printable ASCII without spaces" in message
    assert "hidden" not in message
    preset = load_preset(environment={"DECISION_MODEL_API_KEY": "sk-hidden"})
    assert "hidden" not in f"{preset!r} {preset} {preset.model_dump_json()}"


@pytest.mark.parametrize("address", ["localhost:8080", "ftp://host", "http://", "http://[::1", "http://user:hidden"])
def test_an_address_that_is_no_url_is_refused_without_quoting_it(address: str) -> None:
    message = _refusal("decision_compaction", DECISION_MODEL_BASE_URL=address)
    assert "credential.base_url: must be a URL" in message
    assert address not in message
