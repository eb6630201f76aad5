"""The core is light: importing it, and even compacting with it, loads no framework."""

import subprocess
import sys

import reme_compact

HEAVY = "agentscope fastapi starlette uvicorn celery redis httpx rich structlog openai tiktoken"


def run(code: str) -> str:
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout


def test_importing_the_package_loads_no_framework_and_no_numpy() -> None:
    code = f"import sys, reme_compact; print([m for m in '{HEAVY} numpy regex yaml'.split() if m in sys.modules])"
    assert run(code).strip() == "[]"


def test_compacting_with_the_local_model_loads_no_framework() -> None:
    code = (
        "import sys, asyncio\n"
        "from reme_compact import CompactContextStep, CompactionRequest\n"
        "request = CompactionRequest.example\n"
        "request['messages'][1]['content'][1]['output'] *= 50\n"
        "answer = asyncio.run(CompactContextStep()(**request)).answer\n"
        f"print(answer['stats']['requests'], [m for m in '{HEAVY}'.split() if m in sys.modules])"
    )
    assert run(code).strip() == "1 []"


def test_the_public_names_are_these() -> None:
    assert sorted(reme_compact.__all__) == [
        "AdditiveTokenCounter",
        "BinaryAnswer",
        "CallDecision",
        "CompactContextStep",
        "CompactionOptions",
        "CompactionRequest",
        "CompactionResult",
        "ConfigurationError",
        "DecisionModel",
        "DecisionResponse",
        "InvalidRequestError",
        "MissingCredentialError",
        "MissingExtraError",
        "ReMeError",
        "Response",
        "TokenCounterError",
    ]
    assert all(hasattr(reme_compact, name) for name in reme_compact.__all__)
