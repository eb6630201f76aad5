"""AgentScope classifiers, borrowed and owned, as decision models."""

import subprocess
import sys
from typing import Any

import pytest
from agentscope.classifier import BinaryAnswer, BinaryQuestion, ClassifierModelBase, ClassifierResponse
from agentscope.credential import TypeSafeCredential

from reme_compact.contract.errors import DecisionModelError
from reme_compact.decision.agentscope import AgentScopeDecisionModel, is_agentscope_classifier
from reme_compact.decision.protocol import BinaryQuestion as Question
from reme_compact.decision.protocol import OwnedDecisionModel

pytestmark = pytest.mark.anyio

QUESTIONS: dict[str, Question] = {"t1": {"type": "binary", "instructions": "Is it needed?"}}


class _Client:
    def __init__(self) -> None:
        self.closed = 0

    async def close(self) -> None:
        self.closed += 1

    aclose = close


class _Classifier(ClassifierModelBase):  # type: ignore[misc]
    """A host's own classifier."""

    def __init__(self, failure: BaseException | None = None) -> None:
        super().__init__(TypeSafeCredential(api_key="k"), "host-model")
        self.client = _Client()
        self.failure = failure
        self.asked: list[Any] = []

    async def __call__(self, state: Any, questions: Any, **kwargs: Any) -> Any:
        self.asked.append((state, questions, kwargs))
        if self.failure is not None:
            raise self.failure
        return ClassifierResponse(model="m", content={name: BinaryAnswer(probability=0.25) for name in questions})


class _Derived(_Classifier):
    pass


def test_a_classifier_is_known_by_its_ancestry() -> None:
    assert is_agentscope_classifier(_Derived())
    assert not is_agentscope_classifier(_Derived)
    assert not is_agentscope_classifier(_Client())

    class ClassifierModelBase:
        """Somebody else's class of the same name."""

    assert not is_agentscope_classifier(ClassifierModelBase())


def test_recognising_a_classifier_does_not_import_agentscope() -> None:
    code = (
        "import sys; from reme_compact.decision.agentscope import is_agentscope_classifier as known; "
        "assert not known(lambda state, questions: None); "
        "assert not {'agentscope', 'openai', 'typesafe_sdk', 'httpx', 'httpx2'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603


async def test_a_request_reaches_the_classifier_in_its_own_types() -> None:
    classifier = _Classifier()
    response = await AgentScopeDecisionModel(classifier)({"goal": "g"}, QUESTIONS)
    assert response.content["t1"].probability == 0.25
    ((state, questions, extra),) = classifier.asked
    assert state == {"goal": "g"}
    assert questions == {"t1": BinaryQuestion(instructions="Is it needed?")}
    assert extra == {}


def test_it_says_what_it_is() -> None:
    model = AgentScopeDecisionModel(_Classifier())
    assert isinstance(model, OwnedDecisionModel)
    assert (model.backend, model.model_name) == ("agentscope", "host-model")


async def test_a_borrowed_classifier_is_never_closed() -> None:
    classifier = _Classifier(RuntimeError())
    model = AgentScopeDecisionModel(classifier)
    with pytest.raises(RuntimeError):
        await model({}, QUESTIONS)
    await model.aclose()
    await model.aclose()
    assert classifier.client.closed == 0


async def test_an_owned_classifier_is_closed_once_also_after_a_failure() -> None:
    classifier = _Classifier(TimeoutError())
    model = AgentScopeDecisionModel(classifier, close=classifier.client.aclose)
    with pytest.raises(TimeoutError):
        await model({}, QUESTIONS)
    assert classifier.client.closed == 0
    await model.aclose()
    await model.aclose()
    assert classifier.client.closed == 1


@pytest.mark.parametrize(
    "failure", [AttributeError("private"), KeyError("private"), ValueError("private"), TypeError("private")]
)
async def test_an_answer_that_the_classifier_cannot_read_is_a_typed_failure(failure: Exception) -> None:
    with pytest.raises(DecisionModelError) as caught:
        await AgentScopeDecisionModel(_Classifier(failure))({}, QUESTIONS)
    assert caught.value.fields()["code"] == "invalid_response"
    assert not caught.value.fatal
    assert "private" not in caught.value.message


async def test_a_request_that_cannot_be_encoded_is_not_blamed_on_the_answer() -> None:
    failure = UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed")
    with pytest.raises(DecisionModelError) as caught:
        await AgentScopeDecisionModel(_Classifier(failure))({}, QUESTIONS)
    assert caught.value.fields()["code"] == "request_refused"
