"""What a host may offer as a decision model, and what is refused before anything is asked."""

import functools
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest.mock import AsyncMock, MagicMock

import pytest
from parameters import stable_name

from reme_compact.decision.injection import accept_decision_model, describe
from reme_compact.decision.protocol import DecisionResponse, OwnedDecisionModel


async def plain(state: dict[str, Any], questions: Any) -> DecisionResponse:
    return DecisionResponse({}, {"of": [state, questions]})


async def with_more(
    state: dict[str, Any], questions: Any, temperature: float = 0, *, model: str = "x"
) -> DecisionResponse:
    return DecisionResponse({}, {"of": [state, questions, temperature, model]})


async def three(first: Any, state: Any, questions: Any) -> DecisionResponse:
    return DecisionResponse({}, {"of": [first, state, questions]})


async def gathering(*arguments: Any) -> DecisionResponse:
    return DecisionResponse({}, {"of": list(arguments)})


class Instance:
    async def __call__(self, state: dict[str, Any], questions: Any) -> DecisionResponse:
        return DecisionResponse({}, {"of": [self, state, questions]})

    async def method(self, state: dict[str, Any], questions: Any) -> DecisionResponse:
        return await self(state, questions)

    async def too_few(self, state: dict[str, Any]) -> None:
        del state


class Described(Instance):
    backend = "mine"
    model_name = "model-7"


async def no_arguments() -> None: ...


async def one_argument(state: Any) -> None:
    del state


async def keyword_needed(state: Any, questions: Any, *, key: str) -> None:
    del state, questions, key


def generator(state: Any, questions: Any) -> Iterator[Any]:
    yield state, questions


async def async_generator(state: Any, questions: Any) -> AsyncIterator[Any]:
    yield state, questions


@pytest.mark.parametrize(
    "model",
    [
        plain,
        with_more,
        lambda state, questions: plain(state, questions),  # noqa: PLW0108 - what a host may write
        gathering,
        functools.partial(three, None),
        Instance(),
        Instance().method,
        AsyncMock(),
        MagicMock(),
    ],
)
def test_anything_that_takes_a_state_and_questions_is_used_as_it_is(model: Any) -> None:
    assert accept_decision_model(model) is model


@pytest.mark.parametrize(
    "wrong",
    [
        None,
        5,
        "",
        "Local",
        "agentscope",
        b"local",
        {},
        [plain],
        object(),
        Instance,
        dict,
        no_arguments,
        one_argument,
        three,
        keyword_needed,
        Instance().too_few,
        functools.partial(plain, {}),
        generator,
        async_generator,
        len,
    ],
    ids=stable_name,
)
def test_anything_else_is_a_type_error_that_says_what_is_expected(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"^as_decision_model must be 'local'.* model\(state, questions\)"):
        accept_decision_model(wrong)


async def _never_awaited() -> None: ...


def test_a_coroutine_is_not_a_model() -> None:
    coroutine = _never_awaited()
    with pytest.raises(TypeError, match="coroutine"):
        accept_decision_model(coroutine)  # type: ignore[arg-type]
    coroutine.close()


def test_local_is_built() -> None:
    model = accept_decision_model("local")
    assert isinstance(model, OwnedDecisionModel)
    assert describe(model)["backend"] == "local"


@pytest.mark.parametrize(
    ("model", "description"),
    [
        (Described(), {"backend": "mine", "model": "model-7"}),
        (plain, {"backend": "host", "model": "plain"}),
        (Instance(), {"backend": "host", "model": "Instance"}),
        (Instance().method, {"backend": "host", "model": "Instance.method"}),
        (functools.partial(three, None), {"backend": "host", "model": "partial"}),
    ],
)
def test_a_model_is_described_by_what_it_says_or_is(model: Any, description: dict[str, str]) -> None:
    assert describe(model) == description
