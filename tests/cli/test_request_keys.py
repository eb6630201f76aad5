from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from reme_compact.cli.request_keys import keys_of, request_keys
from reme_compact.contract.options import CompactionOptions
from reme_compact.contract.request import CompactionRequest


def test_every_field_of_the_contract_is_a_key_with_a_meaning() -> None:
    keys = request_keys()
    assert list(keys) == list(CompactionRequest.model_fields)
    assert list(keys["options"].children) == list(CompactionOptions.model_fields)
    described = [*(key for name, key in keys.items() if name != "options"), *keys["options"].children.values()]
    assert all(key.description for key in described)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("messages", "list"),
        ("goal", "text"),
        ("source_refs", "object"),
        ("eligible_tool_names", "list"),
        ("options", "object"),
        ("token_counter", "text"),
    ],
)
def test_types_come_from_the_models(name: str, kind: str) -> None:
    assert request_keys()[name].kind == kind


def test_types_of_options() -> None:
    options = request_keys()["options"].children
    assert (options["drop_threshold"].kind, options["drop_threshold"].limits) == ("number", "at least 0 and at most 1")
    assert (options["preview_chars"].kind, options["preview_chars"].nullable) == ("integer", False)
    assert (options["max_output_tokens"].kind, options["max_output_tokens"].nullable) == ("integer", True)


def test_types_that_the_contract_may_get_later() -> None:
    class Later(BaseModel):
        switch: bool = False
        either: str | int = 0
        limits: dict[str, int] = Field(default_factory=dict)
        pace: Literal["slow", "fast"] = "slow"
        depth: Annotated[int | None, Field(gt=0)] = None

    keys = keys_of(Later)
    assert [key.kind for key in keys.values()] == ["boolean", "any", "object", "text", "integer"]
    assert keys["limits"].item is not None
    assert keys["limits"].item.kind == "integer"
    assert keys["pace"].type_words == "one of slow, fast"
    assert keys["depth"].type_words == "whole number above 0, or null"
