import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.cli.request_values import build_request
from reme_compact.cli.source import escape
from reme_compact.cli.usage import UsageError

MESSAGES = '[{"role":"user","content":[]}]'


def test_values_are_read_by_their_fields() -> None:
    request = build_request({"messages": MESSAGES, "goal": "123", "eligible_tool_names": '["a"]'})
    assert request == {"messages": json.loads(MESSAGES), "goal": "123", "eligible_tool_names": ["a"]}


def test_dotted_keys_join_the_whole_key_in_any_order() -> None:
    request = build_request(
        {
            "options.preserve_recent_messages": "1",
            "messages": MESSAGES,
            "options": '{"drop_threshold":0.2}',
            "options.max_output_tokens": "null",
        }
    )
    assert request["options"] == {
        "drop_threshold": 0.2,
        "preserve_recent_messages": 1,
        "max_output_tokens": None,
    }


def test_a_call_id_may_hold_dots() -> None:
    request = build_request({"messages": MESSAGES, "source_refs.call.1": "a/1", "source_refs.2": "5"})
    assert request["source_refs"] == {"call.1": "a/1", "2": "5"}


def test_a_whole_request_comes_first_and_other_keys_win(tmp_path: Path) -> None:
    whole = {
        "messages": json.loads(MESSAGES),
        "goal": "old",
        "options": {"preview_chars": 10, "drop_threshold": 0.3},
        "source_refs": {"a": "1"},
    }
    (tmp_path / "r.json").write_text(json.dumps(whole))
    request = build_request(
        {"options.preview_chars": "20", "goal": "new", "source_refs": '{"b":"2"}', "request": "@r.json"}
    )
    assert request == {
        "messages": whole["messages"],
        "goal": "new",
        "options": {"preview_chars": 20, "drop_threshold": 0.3},
        "source_refs": {"b": "2"},
    }


@pytest.mark.parametrize(
    ("assignments", "named"),
    [
        ({"gaol": "x"}, "gaol: unknown key; did you mean 'goal'?"),
        ({"next-action": "x"}, "did you mean 'next_action'?"),
        ({"zzz": "x"}, "known keys are"),
        ({"prot": "x"}, "did you mean 'port'?"),
        ({"options.preview_char": "1"}, "did you mean 'preview_chars'?"),
        ({"drop_threshold": "0.5"}, "did you mean 'options.drop_threshold'?"),
        ({"goal.text": "x"}, "goal is a text"),
        ({"messages.0": "x"}, "has no keys of its own"),
        ({"options.drop_threshold.x": "1"}, "unknown key"),
        ({"goal": "x"}, "messages: is required"),
        ({"request": "[]"}, "request: must be a JSON object"),
        ({"request": "{}"}, "messages: is required"),
        ({"request": '{"options":3}', "options.preview_chars": "1"}, "options in the request is not a JSON object"),
        ({"options": '{"preview_chars":1}', "options.preview_chars": "1"}, "given twice"),
        ({"messages": "-", "goal": "-"}, "goal: standard input is already read for messages"),
        ({"options.preview_chars": "many"}, "options.preview_chars: must be a whole number at least 0"),
        ({"source_refs": "[1"}, "source_refs: must be a JSON object"),
    ],
)
def test_mistakes_name_the_key(assignments: dict[str, str], named: str) -> None:
    with pytest.raises(UsageError) as caught:
        build_request(assignments, other_keys=("port", "host"))
    assert named in caught.value.message


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(goal=texts, refs=st.dictionaries(texts.filter(bool), texts))
def test_texts_and_references_survive(goal: str, refs: dict[str, str]) -> None:
    assignments = {"messages": MESSAGES, "goal": escape(goal)}
    assignments |= {f"source_refs.{call_id}": escape(ref) for call_id, ref in refs.items()}
    request = build_request(assignments)
    assert request["goal"] == goal
    assert request.get("source_refs", {}) == refs
