import os
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import orjson
import pytest
from evidence_states import FILLER, state, unit
from hypothesis import given, settings
from hypothesis import strategies as st

from reme_compact.decision.local import LocalDecisionModel
from reme_compact.decision.local.model import probabilities
from reme_compact.decision.protocol import BinaryAnswer, OwnedDecisionModel
from reme_compact.decision.questions import question_about

pytestmark = pytest.mark.anyio

THRESHOLD = 0.1
RETRY_PY = "class RetryingGateway:\n    def charge(self, payment_id):\n        key = uuid4().hex\n" * 8
TASK: dict[str, Any] = {
    "goal": "Payments are charged twice after a gateway timeout; fix the retry path",
    "next_action": "Edit RetryingGateway.charge in checkout/retry.py and add the case of pay_8KQ2Z1 to its tests",
}


async def test_it_is_an_owned_decision_model_and_answers_by_unit_id() -> None:
    model = LocalDecisionModel()
    assert isinstance(model, OwnedDecisionModel)
    assert model.backend == "local"
    asked = state(unit("t1", RETRY_PY), unit("t2", FILLER), **TASK)
    response = await model(asked, {name: question_about(name) for name in ("t2", "t9")})
    assert set(response.content) == {"t2"}
    assert isinstance(response.content["t2"], BinaryAnswer)
    assert orjson.loads(orjson.dumps(response.usage)) == {"evidence_units": 2}
    await model.aclose()
    await model.aclose()


def test_unrelated_long_results_are_clearly_unneeded_and_related_ones_are_not() -> None:
    found = probabilities(
        state(
            unit("t1", RETRY_PY, '{"path": "checkout/retry.py"}'),
            unit("t2", FILLER, '{"path": "menu.txt"}'),
            unit("t3", f"attempt=2 payment=pay_8KQ2Z1 status=201\n{FILLER}", '{"service": "checkout"}', "query_logs"),
            **TASK,
        )
    )
    assert found["t2"] <= THRESHOLD < found["t3"]
    assert found["t1"] > 0.5


def test_a_result_that_only_names_the_identifier_of_the_next_action_is_kept() -> None:
    others = [unit(f"t{n}", FILLER) for n in range(2, 12)]
    found = probabilities(state(unit("t1", f"{FILLER} 41877"), *others, goal="lag", next_action="Explain 41877"))
    assert found["t1"] > THRESHOLD
    assert found["t1"] > max(found[f"t{n}"] for n in range(2, 12))


def test_a_superseded_read_scores_lower_than_the_newest() -> None:
    path = '{"path": "checkout/retry.py"}'
    found = probabilities(
        state(
            unit("t1", RETRY_PY, path, newer_results_for_same_input=1, newer_results_for_same_target=1),
            unit("t2", RETRY_PY + "# edited", path),
            unit("t3", FILLER),
            **TASK,
        )
    )
    assert found["t1"] < found["t2"] / 2


def test_a_result_that_stands_again_later_is_unneeded() -> None:
    again: dict[str, Any] = {"same_result_later": True, "newer_results_for_same_input": 1}
    found = probabilities(state(unit("t1", FILLER, **again), unit("t2", FILLER), **TASK))
    assert found["t1"] <= THRESHOLD


def test_chinese_goals_find_chinese_evidence() -> None:
    found = probabilities(
        state(
            unit("t1", "访问日志至少保留十四天用于审计，删除前须先压缩并上传。" * 12),
            unit("t2", "第一天领取电脑，第二天参加安全培训，第三天熟悉代码仓库。" * 12),
            goal="清理服务器的访问日志，释放磁盘空间，不要影响线上服务",
            next_action="删除过期的访问日志",
        )
    )
    assert found["t2"] <= THRESHOLD < found["t1"]


@pytest.mark.parametrize(
    "less",
    [
        {"goal": None},
        {"next_action": None},
        {"task_context_complete": False},
        {"goal": None, "next_action": None},
    ],
    ids=["no goal", "no next action", "context in part", "no task"],
)
def test_missing_context_raises_the_probability(less: dict[str, Any]) -> None:
    units = (unit("t1", RETRY_PY), unit("t2", FILLER))
    known = probabilities(state(*units, **TASK))
    unknown = probabilities(state(*units, **{**TASK, **less}))
    assert unknown["t2"] > known["t2"]


def test_a_result_shown_in_part_is_less_certainly_unneeded() -> None:
    units = (unit("t1", RETRY_PY), unit("t2", FILLER), unit("t3", FILLER, result_complete=False))
    found = probabilities(state(*units, **TASK))
    assert found["t3"] > found["t2"]


def test_a_task_that_says_nothing_about_any_unit_drops_none() -> None:
    units = [unit(f"t{n}", f"{FILLER} {n}") for n in range(1, 30)]
    assert min(probabilities(state(*units, goal="Go on", next_action="yes")).values()) > THRESHOLD


def test_the_same_state_gives_the_same_probabilities_whatever_the_hash_seed() -> None:
    asked = state(
        unit("t1", RETRY_PY, '{"path": "checkout/retry.py"}'), unit("t2", FILLER), unit("t3", "日志 pay_8KQ2Z1"), **TASK
    )
    script = (
        "import sys, orjson\n"
        "from reme_compact.decision.local.model import probabilities\n"
        "sys.stdout.write(repr(probabilities(orjson.loads(sys.argv[1]))))\n"
    )
    outputs = {
        subprocess.run(  # noqa: S603 - our own script
            [sys.executable, "-c", script, orjson.dumps(asked).decode()],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert outputs == {repr(probabilities(asked))}


ANY_VALUE = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(st.characters(exclude_categories=()), max_size=80)
)


@settings(max_examples=60)
@given(
    st.lists(
        st.fixed_dictionaries(
            {"id": st.sampled_from(["t1", "t2", "t3", "t4"])},
            optional=dict.fromkeys(
                ("tool", "input", "result", "result_complete", "newer_results_for_same_input"), ANY_VALUE
            ),
        ),
        max_size=5,
    ),
    ANY_VALUE,
    st.one_of(ANY_VALUE, st.lists(st.one_of(ANY_VALUE, st.fixed_dictionaries({}, optional={"text": ANY_VALUE})))),
)
def test_any_state_gets_probabilities(units: list[dict[str, Any]], goal: Any, context: Any) -> None:
    found = probabilities({"goal": goal, "next_action": goal, "task_context": context, "evidence_units": units})
    assert set(found) == {item["id"] for item in units}
    assert all(0 < probability < 1 for probability in found.values())


@pytest.mark.parametrize("broken", [{}, {"evidence_units": None}, {"evidence_units": ["t1", 3]}, {"goal": "x"}])
def test_a_state_without_units_gets_no_answers(broken: dict[str, Any]) -> None:
    assert probabilities(broken) == {}


def test_enormous_texts_are_judged() -> None:
    enormous = "日志 word_1 ".ljust(2_000_000, "x")
    found = probabilities(state(unit("t1", enormous, enormous), unit("t2", "🙂" * 500_000), goal=enormous))
    assert set(found) == {"t1", "t2"}


async def test_cancelling_ends_the_work_between_two_units(monkeypatch: pytest.MonkeyPatch) -> None:
    # The work itself cancels the request once it has begun, so no waiting is needed before it.
    scope = anyio.CancelScope()
    ended = threading.Event()

    def measure(_state: Any, _weights: Any, between_units: Callable[[], object]) -> dict[str, Any]:
        with suppress(BaseException):
            anyio.from_thread.run_sync(scope.cancel)
        try:
            between_units()
        except BaseException:
            ended.set()
            raise
        return {}

    monkeypatch.setattr("reme_compact.decision.local.model.measure", measure)
    with scope:
        await LocalDecisionModel()(state(unit("t1", FILLER), **TASK), {"t1": question_about("t1")})
    assert scope.cancelled_caught
    assert await anyio.to_thread.run_sync(ended.wait, 30)
