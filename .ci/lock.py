"""Write constraints.txt: the exact versions that tests pass with, one file for all supported Pythons.

Usage: python .ci/lock.py python3.11 python3.12 python3.13

Installs the package with everything that develops and tests it into a new environment per interpreter, and merges
what was chosen. Where interpreters differ, an older pin carries a marker.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
HEADER = """\
# The exact versions that the tests pass with. Written by: python .ci/lock.py python3.11 python3.12 ...
"""


def frozen(interpreter: str, folder: Path) -> tuple[str, dict[str, str]]:
    """Install everything with one interpreter, and return its version and the pins."""
    environment = folder / Path(interpreter).name
    subprocess.run([interpreter, "-m", "venv", environment], check=True)  # noqa: S603
    python = str(environment / "bin" / "python")
    for arguments in (["--upgrade", "pip"], ["-e", f"{ROOT}[all]", "--group", f"{ROOT / 'pyproject.toml'}:dev"]):
        subprocess.run([python, "-m", "pip", "install", "-q", *arguments], check=True)  # noqa: S603
    version = subprocess.run(  # noqa: S603
        [python, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], check=True, capture_output=True, text=True
    ).stdout.strip()
    listed = subprocess.run(  # noqa: S603
        [python, "-m", "pip", "freeze", "--all", "--exclude-editable"], check=True, capture_output=True, text=True
    ).stdout
    pins = dict(line.split("==") for line in listed.splitlines() if "==" in line)
    return version, pins


def merged(by_version: dict[str, dict[str, str]]) -> list[str]:
    """Write one line per package and version, with a marker where interpreters differ."""
    versions = sorted(by_version, key=lambda version: tuple(map(int, version.split("."))))
    lines = []
    for name in sorted({name for pins in by_version.values() for name in pins}, key=str.lower):
        chosen = {version: by_version[version][name] for version in versions if name in by_version[version]}
        if len(set(chosen.values())) == 1:
            lines.append(f"{name}=={next(iter(chosen.values()))}")
            continue
        for version, pin in chosen.items():
            comparison = ">=" if version == versions[-1] else "=="
            lines.append(f"{name}=={pin} ; python_version {comparison} '{version}'")
    return lines


def main() -> None:
    """Lock with every interpreter named on the command line."""
    with tempfile.TemporaryDirectory() as folder:
        by_version = dict(frozen(interpreter, Path(folder)) for interpreter in sys.argv[1:] or [sys.executable])
    (ROOT / "constraints.txt").write_text(HEADER + "\n".join(merged(by_version)) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
