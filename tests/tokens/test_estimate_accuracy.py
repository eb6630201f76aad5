"""How near the estimate comes to o200k, class by class and on recorded histories. Run with -s to see the table."""

import base64
import json
import random
import uuid
from pathlib import Path

import pytest
from histories import trajectory_files

from reme_compact.tokens.encodings import load_text_counter
from reme_compact.tokens.estimate import estimate_tokens

ROOT = Path(__file__).parents[2]
LOWEST, HIGHEST, HIGHEST_ON_HISTORIES = 0.95, 1.8, 1.3
_random = random.Random(20)  # noqa: S311 - test data

ENGLISH = """\
The payment service retried every charge three times, and nobody had noticed that the second attempt was sent with a
new key. For most customers nothing happened, because the gateway refused what it had already accepted; for a few
hundred it did not, and they paid twice. We found this late, partly because the dashboards counted attempts instead of
charges, and partly because the one person who understood the retry loop was on holiday. Once the cause was clear the
repair took an afternoon: keep one key for all attempts of one payment, write it down before the first of them, and
read it back after a restart. What remains is less pleasant. Refunds have to be checked by hand, the report for the
auditors is due on Friday, and two regions still run the old release. If you are on call tonight, watch the replica in
Frankfurt; it falls behind whenever the nightly export begins, and its lag hides exactly the rows that you need.
Everything else can wait until Monday, when the whole team is back and the new alerts have been tried on real traffic.
"""
CHINESE = (
    "数据库复制延迟的原因是主库上有一个运行了四十分钟的长事务,它阻塞了日志的回放。我们先确认了磁盘和网络都没有问题,"
    "然后在监控里看到从库的写入队列一直在增长。建议先终止报表任务,再观察延迟是否下降,最后把夜间导出移到另一台只读副本上执行。"
)
JAPANESE = (
    "レプリカの遅延は、夜間の集計処理が長いトランザクションを開いたままにすることが原因でした。"
    "まず処理を止めて遅延が解消するか確認し、その後で設定を見直します。"
)
KOREAN = (
    "결제 재시도 로직이 매번 새로운 키를 보내기 때문에 일부 고객에게 요금이 두 번 청구되었습니다. "
    "로그를 확인해 주세요. "
)
RUSSIAN = (
    "Задержка реплики вызвана долгой транзакцией на основном сервере: ночной отчёт читает все заказы за месяц и не "
    "даёт применить журнал. Сначала остановите отчёт, потом проверьте, уменьшается ли отставание, и только затем "
    "меняйте настройки. Если это не поможет, позвоните дежурному администратору базы данных. "
)
_EMOJI = [chr(code) for code in (*range(0x1F600, 0x1F640), *range(0x1F680, 0x1F6B0), *range(0x1F330, 0x1F3A0))]


def log_line() -> str:
    return (
        f"2026-11-{_random.randint(10, 28)}T{_random.randint(10, 23)}:{_random.randint(10, 59)}:"
        f"{_random.randint(10, 59)}.{_random.randint(100, 999)}Z {_random.choice(['INFO', 'WARN', 'ERROR'])} "
        f"[worker-{_random.randint(1, 40)}] request_id={_uuid()} path=/v1/payments/{_random.randint(1, 10**6)} "
        f"status={_random.choice([200, 404, 503])} took={_random.randint(1, 2000)}ms\n"
    )


def _uuid() -> str:
    return str(uuid.UUID(int=_random.getrandbits(128), version=4))


NUMBERS = [{"id": n, "name": f"user_{n}", "score": n / 7, "ok": n % 2 == 0} for n in range(60)]
GAPS = [_random.choice(["\n", " " * _random.randint(1, 40), "\t" * _random.randint(1, 6)]) for _ in range(300)]

SAMPLES = {
    "English": ENGLISH,
    "code": (ROOT / "reme_compact" / "decision" / "direct_scorer.py").read_text(encoding="utf-8"),
    "JSON": json.dumps(json.loads((ROOT / "examples" / "incident_request.json").read_text(encoding="utf-8")))[:20_000],
    "JSON, indented": json.dumps(NUMBERS, indent=2),
    "logs": "".join(log_line() for _ in range(40)),
    "CJK": CHINESE * 4 + JAPANESE * 6 + KOREAN * 6,
    "Cyrillic": RUSSIAN * 5,
    "emoji": "".join(_random.choice(_EMOJI) for _ in range(1200)),
    "emoji, joined": "👨‍👩‍👧👍🏽🇩🇪❤️🏳️‍🌈👩🏿‍💻" * 80,
    "hex": _random.randbytes(1500).hex(),
    "UUIDs": "\n".join(_uuid() for _ in range(50)),
    "base64": base64.b64encode(_random.randbytes(2000)).decode(),
    "whitespace": "".join(GAPS),
}


@pytest.fixture(scope="module", autouse=True)
def table() -> object:
    """Print all ratios, for whoever reads the run."""
    yield
    count = load_text_counter("o200k_base")
    print(f"\n{'':32} {'o200k':>8} {'estimate':>9} {'ratio':>6}")
    rows = {**SAMPLES, **{path.name.split(".")[0]: path.read_text(encoding="utf-8") for path in trajectory_files()}}
    for name, sample in rows.items():
        counted, estimated = count(sample), estimate_tokens(sample)
        print(f"{name:32} {counted:8} {estimated:9} {estimated / counted:6.2f}")


@pytest.mark.parametrize("name", SAMPLES)
def test_each_class_of_text_is_estimated_within_bounds(name: str) -> None:
    sample = SAMPLES[name]
    assert len(sample) >= 1000
    ratio = estimate_tokens(sample) / load_text_counter("o200k_base")(sample)
    assert LOWEST <= ratio <= HIGHEST


@pytest.mark.parametrize("path", trajectory_files(), ids=lambda path: path.name.split(".")[0])
def test_recorded_histories_are_estimated_within_bounds(path: Path) -> None:
    written = path.read_text(encoding="utf-8")
    ratio = estimate_tokens(written) / load_text_counter("o200k_base")(written)
    assert LOWEST <= ratio <= HIGHEST_ON_HISTORIES
