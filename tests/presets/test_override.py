"""Overrides are read by the schema's type and refused by name."""

from pathlib import Path
from typing import Any

import pytest

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.load import load_preset
from reme_compact.presets.override import OverrideError, read_overrides

PRESET = {"components": {"as_decision_model": {"compaction": {"backend": "local"}}}}
MODEL = "components.as_decision_model.compaction"


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("service.port", "0", 0),
        ("service.shutdown_grace_seconds", "1.5", 1.5),
        ("service.log_format", "json", "json"),
        (f"{MODEL}.credential.api_key", "123456", "123456"),
        (f"{MODEL}.credential.api_key", "null", None),
        (f"{MODEL}.model", "1e5", "1e5"),
        (f"{MODEL}.model", "true", "true"),
        (f"{MODEL}.model", "'null'", "null"),
        (f"{MODEL}.model", "{brace", "{brace"),
        (f"{MODEL}.credential", '{"api_key": "k"}', {"api_key": "k"}),
        ("service.host", "null", "null"),
    ],
)
def test_the_value_is_read_by_the_type_of_its_place(path: str, text: str, value: Any) -> None:
    nested: Any = read_overrides({path: text}, PRESET)
    for part in path.split("."):
        nested = nested[part]
    assert nested == value
    assert type(nested) is type(value)


def _refusal(overrides: dict[str, str]) -> str:
    with pytest.raises(ConfigurationError) as caught:
        load_preset(overrides=overrides, environment={})
    return caught.value.message


@pytest.mark.parametrize(
    ("path", "place", "hint"),
    [
        ("servce.port", "override: servce:", "'service'"),
        ("service.prot", "override: service.prot:", "'port'"),
        ("components.as_decision_model.compation.model", "compation:", "'compaction'"),
        ("jobs.compact_contxt.description", "compact_contxt:", "'compact_context'"),
        ("service.port.number", "service.port.number:", "nothing below"),
        ("", "override: :", "known keys are"),
        ("service..port", "override: service.:", "known keys are"),
    ],
)
def test_an_unknown_path_is_refused_with_the_closest_known(path: str, place: str, hint: str) -> None:
    message = _refusal({path: "hidden"})
    assert not message.endswith(("?.", " of service"))
    assert place in message
    assert hint in message
    assert "hidden" not in message


def test_a_wrong_value_names_the_override_and_not_the_value() -> None:
    message = _refusal({"service.port": "hidden"})
    assert message.startswith("override: service.port:")
    assert "hidden" not in message
    assert "not valid YAML" in _refusal({"service.port": "[hidden"})


@pytest.mark.parametrize("text", ["!!bool maybe", "!!int ''", "{!!str [a]: 1}", "&a [*a]", "[" * 100, '"\\ud800"'])
def test_yaml_that_is_refused_in_files_is_refused_here(text: str) -> None:
    message = _refusal({"service.port": text})
    assert message.startswith("override: service.port: is not valid YAML or JSON (")


@pytest.mark.parametrize(
    "text",
    ["!!int abc", "!secret", "*x", "&x y", "&x", "[" * 100, "a #b", "#b", "a: b", "'a", "'a' b", "|", "- a", "%"],
)
def test_text_may_look_like_other_yaml(text: str) -> None:
    preset = load_preset(overrides={f"{MODEL}.model": text}, environment={})
    assert preset.components.as_decision_model["compaction"].model == text


def test_a_long_path_is_cut() -> None:
    message = _refusal({f"service.{'a' * 5000}": "1"})
    assert "a" * 80 in message
    assert "a" * 100 not in message


def test_overrides_win_over_files_and_environment() -> None:
    preset = load_preset(
        overrides={f"{MODEL}.backend": "agentscope", "service.port": "0"},
        environment={"DECISION_MODEL_BACKEND": "agentscope_openai"},
    )
    assert preset.components.as_decision_model["compaction"].backend == "agentscope"
    assert preset.service.port == 0


def test_an_overridden_placeholder_need_not_be_set(tmp_path: Any) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("service: {host: '${HOST_THAT_IS_NOT_SET}'}\n")
    assert load_preset(file, overrides={"service.host": "::1"}, environment={}).service.host == "::1"


def test_overlapping_overrides() -> None:
    whole, part = f"{MODEL}.credential", f"{MODEL}.credential.base_url"
    later = read_overrides({whole: '{"api_key": "k"}', part: "http://a"}, PRESET)
    assert later == {
        "components": {"as_decision_model": {"compaction": {"credential": {"api_key": "k", "base_url": "http://a"}}}}
    }
    with pytest.raises(ConfigurationError, match="already replaces 'credential'"):
        read_overrides({whole: "null", part: "http://a"}, PRESET)


def test_an_override_is_not_filled_in_from_the_environment() -> None:
    preset = load_preset(overrides={f"{MODEL}.model": "${HOME}"}, environment={"HOME": "x"})
    assert preset.components.as_decision_model["compaction"].model == "${HOME}"


@pytest.mark.parametrize("path", ["service", "jobs.compact_context", "components.token_counter", f"{MODEL}.credential"])
def test_an_override_cannot_put_a_value_where_a_mapping_belongs(path: str) -> None:
    assert _refusal({path: "1"}) == f"override: {path}: must be a mapping of names to values"


@pytest.mark.parametrize(
    ("text", "override", "place"),
    [
        ("service: [1]", "service.port", "service: must be a mapping"),
        ("service:", "service.port", "service: must be a mapping"),
        ("jobs: {tidy: {step: compact_context_step}}", "service.port", "jobs.tidy.as_decision_model: is required"),
        ("jobs: {tidy: {step: compact_context_step}}", "jobs.tidy.description", "jobs.tidy.as_decision_model: is req"),
        ("jobs: {compact_context: {as_decision_model: x}}", "service.port", "jobs.compact_context.as_decision_model:"),
        ("jobs: {compact_context: {as_decision_model: x}}", "jobs.compact_context.description", "as_decision_model:"),
        ("jobs: {compact_context: {token_counter: x}}", "components.token_counter.estimate.overhead_tokens", "counter"),
        ("service: {prot: 1}", "service.port", "service.prot: unknown key"),
    ],
)
def test_a_mistake_in_a_file_is_charged_to_the_file(text: str, override: str, place: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(f"extends: decision_compaction\n{text}\n")
    with pytest.raises(ConfigurationError) as caught:
        load_preset(file, overrides={override: "0"}, environment={})
    assert not isinstance(caught.value, OverrideError)
    assert caught.value.message.startswith(f"{file}: ")
    assert place in caught.value.message


def test_a_reference_that_an_override_breaks_is_charged_to_the_override() -> None:
    with pytest.raises(OverrideError, match=r"^override: jobs\.compact_context\.token_counter: names no component"):
        load_preset(overrides={"jobs.compact_context.token_counter": "x"}, environment={})


def test_mistakes_on_both_sides_are_told_apart(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("extends: decision_compaction\nhealth: {outcome_expires_after_seconds: 0}\n")
    with pytest.raises(ConfigurationError) as caught:
        load_preset(file, overrides={"service.port": "-1"}, environment={})
    assert not isinstance(caught.value, OverrideError)
    labels = {line.partition(": ")[0] for line in caught.value.message.splitlines()}
    assert labels == {str(file), "override"}
