"""The report's last line: what to do now, and what would let more be replaced."""

from typing import Any

import pytest

from reme_compact.cli.advice import next_step
from reme_compact.contract.request import CompactionRequest

TOLD: dict[str, Any] = {"goal": "Fix it", "next_action": "Read retry.py"}


def proposal(*reasons: str, **changes: Any) -> dict[str, Any]:
    """A proposal that replaced nothing, with one `search_code` pair per reason; `rule!` is a protection."""
    calls = [{"type": "tool_call", "id": f"c{number}", "name": "search_code"} for number in range(len(reasons))]
    rules = {f"t{number}": reason[:-1] for number, reason in enumerate(reasons) if reason.endswith("!")}
    decisions = [
        {
            "id": f"t{number}",
            "call_id": f"c{number}",
            "action": "keep",
            "reason": "protected" if f"t{number}" in rules else reason,
        }
        for number, reason in enumerate(reasons)
    ]
    stats = {
        "details": rules,
        "protected_by": {rule: list(rules.values()).count(rule) for rule in rules.values()},
        **changes.pop("stats", {}),
    }
    return {
        "messages": [{"role": "assistant", "content": calls}],
        "decisions": decisions,
        "changed": False,
        "reason": "no_change",
        "stats": stats,
        **changes,
    }


def test_a_smaller_history_is_archived_then_sent() -> None:
    assert next_step(proposal("low_relevance", changed=True, reason="compacted"), TOLD) == (
        "archive each replaced original under its reference, then send answer.messages instead of yours."
    )


@pytest.mark.parametrize(
    ("archived", "advised"),
    [
        (
            2,
            (
                "send answer.messages instead of yours; what a preview's last line names is read back as in "
                "`reme recover ref=archive/s/1`"
            ),
        ),
        (1, "archive each replaced original whose reference is your own, then send answer.messages"),
        (0, "archive each replaced original under its reference, then"),
    ],
)
def test_what_the_archive_keeps_is_not_left_to_the_host(archived: int, advised: str) -> None:
    result = proposal("low_relevance", "low_relevance", changed=True, stats={"archived": {"results": archived}})
    for decision in result["decisions"]:
        decision.update(action="preview", source_ref="archive/s/1")
    assert next_step(result, TOLD).startswith(advised)


def test_with_an_archive_no_source_refs_are_asked_for() -> None:
    result = proposal("tool_not_eligible!", reason="no_candidates")
    assert "source_refs" in next_step(result, TOLD)
    assert "source_refs" not in next_step(result, {**TOLD, "archive": {"session": "demo"}})


@pytest.mark.parametrize(
    ("request_sent", "advised", "unwanted"),
    [
        ({}, "pass goal= and next_action=", None),
        ({"goal": " ", "next_action": ""}, "pass goal= and next_action=", None),
        ({"goal": "Fix it"}, "pass next_action=", "goal="),
        ({"next_action": "Read"}, "try a higher options.drop_threshold", "goal="),
        (TOLD, "try a higher options.drop_threshold", "pass "),
        (None, "try a higher options.drop_threshold", "pass "),
    ],
)
def test_what_was_left_out_comes_before_a_higher_threshold(
    request_sent: dict[str, Any] | None, advised: str, unwanted: str | None
) -> None:
    advice = next_step(proposal("needed_or_uncertain"), request_sent)
    assert advice.startswith("send your history as it is. ")
    assert advised in advice
    assert unwanted is None or unwanted not in advice
    assert advice.find("pass ") < advice.index("drop_threshold")


def test_a_proposal_that_does_not_fit_is_usable_all_the_same() -> None:
    request = {**TOLD, "options": {"max_output_tokens": 1000}}
    result = proposal(
        "low_relevance",
        "needed_or_uncertain",
        changed=True,
        reason="budget_exceeded",
        budget_met=False,
        stats={"tokens_after": 1200},
    )
    advice = next_step(result, request)
    assert advice.startswith("the proposal is usable: archive each replaced original")
    assert "does not fit the budget (1,200 tokens, options.max_output_tokens is 1,000)" in advice
    assert "raise options.max_output_tokens; or try a higher" in advice


def test_nothing_that_could_be_sent_instead_and_nothing_fits() -> None:
    advice = next_step(proposal("no_savings", reason="budget_exceeded", budget_met=False), TOLD)
    assert advice.startswith("send your history as it is; nothing in it can get shorter. It does not fit the budget.")
    assert "usable" not in advice


@pytest.mark.parametrize(
    ("messages", "sign"),
    [
        (
            [{"role": "user", "content": [{"type": "tool_use", "id": "a"}, {"type": "image\x1b"}]}],
            r"tool_use, image\x1b",
        ),
        ([{"role": "assistant", "content": [{"type": "text"}], "tool_calls": []}], "messages with tool_calls"),
    ],
)
def test_another_message_format_is_recognised(messages: list[Any], sign: str) -> None:
    advice = next_step(proposal(messages=messages, reason="no_candidates"), TOLD)
    assert "its message format is not AgentScope 2.x" in advice
    assert sign in advice
    assert "protected" not in advice


def test_a_history_without_tool_calls_is_said_to_have_none() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "hi"}]}]
    assert next_step(proposal(messages=messages, reason="no_candidates"), TOLD).endswith(
        "there is no tool call with an id in it."
    )


OBSTACLES = ("preserve_recent_messages", "eligible_tool_names", "source_refs")
ELIGIBLE = {"eligible_tool_names": ["search_code"]}
REFS = {"source_refs": {"c0": "archive/c0", "c1": "archive/c1"}}


@pytest.mark.parametrize(
    ("rules", "request_sent", "named"),
    [
        (["recent!"], {}, OBSTACLES),
        (["recent!"], {**ELIGIBLE}, ("preserve_recent_messages", "source_refs")),
        (["recent!"], {**REFS}, ("preserve_recent_messages", "eligible_tool_names")),
        (["recent!", "recent!"], {**ELIGIBLE, **REFS}, ("preserve_recent_messages",)),
        (["tool_not_eligible!"], {}, ("eligible_tool_names", "source_refs")),
        (["tool_not_eligible!", "recent!"], {}, OBSTACLES),
        (["no_source_ref!"], {**ELIGIBLE}, ("source_refs",)),
        (["invalid_source_ref!"], {**ELIGIBLE, **REFS}, ("source_refs",)),
    ],
)
def test_every_obstacle_is_named_at_once(
    rules: list[str], request_sent: dict[str, Any], named: tuple[str, ...]
) -> None:
    advice = next_step(proposal(*rules, reason="no_candidates"), request_sent)
    assert [obstacle for obstacle in OBSTACLES if obstacle in advice] == list(named)


def test_the_obstacles_name_what_to_change_from() -> None:
    first = next_step(proposal("recent!", reason="no_candidates"), {})
    assert "options.preserve_recent_messages (6) or set options.preserve_recent_pairs" in first
    assert "(here: search_code)" in first
    second = next_step(proposal("recent!", reason="no_candidates"), {"options": {"preserve_recent_pairs": 9}})
    assert "lower options.preserve_recent_pairs (9)" in second


def test_without_the_request_the_rules_alone_are_named() -> None:
    advice = next_step(proposal("recent!", "no_source_ref!", reason="no_candidates"))
    assert [obstacle for obstacle in OBSTACLES if obstacle in advice] == ["preserve_recent_messages", "source_refs"]


def test_tools_that_the_host_left_out_on_purpose_are_not_pushed() -> None:
    result = proposal("recent!", "tool_not_eligible!", reason="no_candidates")
    result["messages"][0]["content"][1]["name"] = "deploy"
    assert "eligible_tool_names" not in next_step(result, {**ELIGIBLE, **REFS})


@pytest.mark.parametrize(
    ("result", "advised"),
    [
        (proposal("result_missing!", reason="no_candidates"), "every tool result in it is protected"),
        (proposal("first_message!", reason="no_candidates"), "after the first message"),
        (proposal("within_budget"), "it fits the budget"),
        (proposal("no_savings"), "nothing in it can get shorter"),
        (proposal("unobserved", stats={"details": {"t0": "no_goal"}}), "goal=, next_action="),
        (proposal("unobserved", stats={"details": {"t0": "oversized"}}), "options.max_state_tokens"),
        (proposal("invalid_answer"), "were no probabilities"),
        (proposal("model_error", stats={"errors": [{"code": "x"}]}), "when the decision model works"),
        (proposal("timeout", stats={"errors": [{"code": "timeout"}]}), "raise options.total_timeout_seconds"),
    ],
)
def test_each_outcome_has_its_own_advice(result: dict[str, Any], advised: str) -> None:
    advice = next_step(result, CompactionRequest.example)
    assert advised in advice
    assert "drop_threshold" not in advice
    assert advice.endswith(".")


def test_time_that_ran_out_before_anything_was_asked_is_no_outage() -> None:
    advice = next_step(proposal("timeout", "recent!"), TOLD)
    assert advice.endswith("To let more be replaced: raise options.total_timeout_seconds.")


@pytest.mark.parametrize("kind", [[], {}, 1, None, "\x1b[2J"])
def test_a_block_may_be_of_any_type(kind: Any) -> None:
    history = [{"role": "user", "content": [{"type": kind}]}]
    advice = next_step(proposal(messages=history), TOLD)
    assert "its message format is not AgentScope 2.x" in advice
    assert "\x1b" not in advice
