"""One job or one component from a preset alone, as a host embeds it."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reme_compact.contract.errors import ConfigurationError, MissingCredentialError
from reme_compact.contract.request import CompactionRequest
from reme_compact.presets.assemble import assemble_component, assemble_job
from reme_compact.presets.load import load_preset
from reme_compact.tokens.counters import AdditiveTokenCounter

pytestmark = pytest.mark.anyio


async def test_the_packaged_job_compacts_offline() -> None:
    step = assemble_job(load_preset(environment={}), "compact_context")
    response = await step(**CompactionRequest.example)
    assert response.success
    assert step.describe_decision_model()["backend"] == "local"
    assert response.metadata["compaction"]["token_counter"]["name"] == "estimate"
    await step.aclose()
    await step.aclose()


async def test_a_decision_model_alone() -> None:
    model = assemble_component(load_preset(environment={}), "as_decision_model.compaction")
    assert model.backend == "local"
    await model.aclose()


def test_a_token_counter_alone_with_its_overhead() -> None:
    plain = load_preset(environment={})
    charged = load_preset(environment={}, overrides={"components.token_counter.estimate.overhead_tokens": "100"})
    message = CompactionRequest.example["messages"][0]
    counters = [assemble_component(preset, "token_counter.estimate") for preset in (plain, charged)]
    assert all(isinstance(counter, AdditiveTokenCounter) for counter in counters)
    assert counters[1].constant - counters[0].constant == 100
    assert counters[1].count_message(message) == counters[0].count_message(message) > 0


@pytest.mark.parametrize(
    ("path", "hint"),
    [
        ("as_decision_model.compation", "'compaction'"),
        ("token_conter.estimate", "'token_counter'"),
        ("as_decision_model", "known components are compaction"),
    ],
)
def test_an_unknown_component_is_refused_with_the_closest(path: str, hint: str) -> None:
    with pytest.raises(ConfigurationError, match=hint):
        assemble_component(load_preset(environment={}), path)


def test_a_job_that_the_preset_lacks_is_said_so_with_those_it_has() -> None:
    with pytest.raises(ConfigurationError, match=r"^The preset has no job 'tidy'; it has 'compact_context'\.$"):
        assemble_job(load_preset(environment={}), "tidy")
    with pytest.raises(ConfigurationError, match=r"^The preset has no job 'compact_context'; it has no jobs\.$"):
        assemble_job(load_preset("default", environment={}), "compact_context")


def test_a_hosted_model_without_a_key_fails_when_it_is_assembled() -> None:
    preset = load_preset(environment={"DECISION_MODEL_BACKEND": "agentscope"})
    with pytest.raises(MissingCredentialError, match="DECISION_MODEL_API_KEY"):
        assemble_job(preset, "compact_context")


async def test_a_counter_that_cannot_be_built_stops_only_requests_that_name_it(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(
        "extends: decision_compaction\ncomponents: {token_counter: {mine: {backend: 'no_such_package:count'}}}\n"
    )
    step = assemble_job(load_preset(file, environment={}), "compact_context")
    assert (await step(**CompactionRequest.example)).success
    with pytest.raises(ConfigurationError):
        await step(**CompactionRequest.example, token_counter="mine")
    await step.aclose()


async def test_a_counter_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []

    def build(backend: str, *_: Any, **__: Any) -> Any:
        built.append(backend)
        return len

    monkeypatch.setattr("reme_compact.presets.assemble.build_token_counter", build)
    step = assemble_job(load_preset(environment={}), "compact_context")
    assert built == []
    for _ in range(2):
        await step(**CompactionRequest.example, token_counter="o200k_base")
    assert built == ["o200k_base"]
    await step.aclose()


def test_the_local_job_is_assembled_without_heavy_imports() -> None:
    code = (
        "import sys; from reme_compact.presets.load import load_preset; "
        "from reme_compact.presets.assemble import assemble_job; "
        "assemble_job(load_preset(environment={}), 'compact_context'); "
        "heavy = {'agentscope', 'openai', 'typesafe_sdk', 'fastapi', 'httpx', 'tiktoken', 'rich'} & set(sys.modules); "
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603
