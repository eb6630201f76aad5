"""`${VAR}` and `${VAR:-default}`, filled in from the environment."""

from typing import Any

import pytest

from reme_compact.contract.errors import ConfigurationError
from reme_compact.presets.interpolate import fill_templates, mark_templates


def fill(text: str, **environment: str) -> Any:
    return fill_templates(mark_templates({"a": {"b": text}}, "preset.yaml"), environment)["a"]["b"]


def test_a_value_from_the_environment_stays_text() -> None:
    assert fill("${KEY}", KEY="123456") == "123456"
    assert fill("${KEY}", KEY="null") == "null"
    assert fill("${KEY:-x}", KEY="true") == "true"


@pytest.mark.parametrize(
    ("text", "value"),
    [("${V:-null}", None), ("${V:-4}", 4), ("${V:-0.5}", 0.5), ("${V:-}", None), ("${V:-a:b-c}", "a:b-c")],
)
def test_a_default_is_read_as_yaml(text: str, value: Any) -> None:
    assert fill(text) == value
    assert fill(text, V="") == value


def test_a_default_that_is_no_scalar_stays_text() -> None:
    assert fill("${V:-[1]}") == "[1]"
    assert fill("${V:-*x}") == "*x"


def test_placeholders_inside_text_stay_text() -> None:
    assert fill("http://${HOST:-127.0.0.1}:${PORT:-80}/x", PORT="8080") == "http://127.0.0.1:8080/x"
    assert fill("${A:-1}${B:-2}") == "12"


def test_an_escaped_placeholder_is_literal() -> None:
    assert fill("$${HOME}") == "${HOME}"
    assert fill("a$b $${X} ${Y}", Y="y") == "a$b ${X} y"


def test_a_value_is_not_filled_in_twice() -> None:
    assert fill("${A}", A="${B}", B="b") == "${B}"


def test_a_required_variable_is_named_with_its_place() -> None:
    with pytest.raises(ConfigurationError) as caught:
        fill("${NEEDED}", OTHER="hidden")
    assert caught.value.message.startswith("preset.yaml: a.b: the environment variable NEEDED is not set")
    assert "hidden" not in caught.value.message


def test_an_empty_required_variable_is_set() -> None:
    assert fill("${NEEDED}", NEEDED="") == ""


@pytest.mark.parametrize("text", ["${", "${A", "${}", "${1A}", "${A-b}", "${A:-${B}}", "${ A }"])
def test_a_malformed_placeholder_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError, match=r"preset\.yaml: a\.b: a placeholder must be"):
        fill(text)


def test_lists_are_filled_in_and_other_values_left_alone() -> None:
    marked = mark_templates({"a": ["${V:-1}", 2, None, True]}, "preset.yaml")
    assert fill_templates(marked, {}) == {"a": [1, 2, None, True]}
