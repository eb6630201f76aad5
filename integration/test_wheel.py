"""The wheel works where there is no checkout: its presets, its weights, its command line."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed into a folder of its own, beside the dependencies that are there already."""
    target = tmp_path_factory.mktemp("installed")
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index", "--target", target, wheel],
        check=True,
        capture_output=True,
    )
    return target


def run(installed: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python outside the checkout, with the installed package before any other."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith("DECISION_MODEL_")}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(installed)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_wheel_holds_what_it_needs_and_nothing_else(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for needed in (
        "_presets/default.yaml",
        "_presets/decision_compaction.yaml",
        "decision/local/weights.json",
        "py.typed",
    ):
        assert f"reme_compact/{needed}" in names
    assert {name.split("/")[0].split("-")[0] for name in names} == {"reme_compact", "reme_workers"}


def test_the_package_comes_from_the_wheel(installed: Path, tmp_path: Path) -> None:
    found = run(installed, tmp_path, "-c", "import reme_compact; print(reme_compact.__file__)")
    assert Path(found.stdout.strip()).is_relative_to(installed)


def test_one_job_runs_from_the_packaged_preset(installed: Path, tmp_path: Path) -> None:
    request = ROOT / "examples" / "incident_request.json"
    done = run(
        installed, tmp_path, "-m", "reme_compact.cli.main", "start", "config=decision_compaction",
        "job=compact_context", f"request=@{request}", "output=json",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answer"]["reason"] == "compacted"


def test_a_preset_of_ones_own_may_extend_the_packaged_one(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: decision_compaction\nservice: {port: 4000}\n", encoding="utf-8")
    code = "from reme_compact.presets.load import load_preset; print(load_preset('./mine.yaml').service.port)"
    assert run(installed, tmp_path, "-c", code).stdout.strip() == "4000"
