import pytest
from hypothesis import given
from hypothesis import strategies as st

from reme_compact.decision.local.terms import MAX_CHARACTERS, contains, identifiers, names, readable, words

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=300)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("retry", "retries"),
        ("Retried", "retrying retry"),
        ("paymentRetry", "payment_retry"),
        ("HTTPServer", "http server"),
        ("charged", "charging"),
        ("src/payments/retry.py", "payments"),
        ("磁盘使用率", "磁盘已满"),
        ("재시도를", "재시도가"),
        ("Überprüfung", "überprüfung"),
    ],
)
def test_different_spellings_share_a_word(one: str, other: str) -> None:
    assert words(one) & words(other)


@pytest.mark.parametrize(
    ("one", "other"), [("status", "stat"), ("class", "clas"), ("王小明", "李大山"), ("retry", "entry")]
)
def test_different_words_stay_different(one: str, other: str) -> None:
    assert not words(one) & words(other)


def test_function_words_and_single_letters_do_not_count() -> None:
    assert words("The a of I x with your") == set()


def test_symbols_outside_ascii_change_no_word() -> None:
    assert words("retry → charge │ twice ✓") == words("retry charge twice")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("open checkout/payments/retry.py now", ["checkout/payments/retry.py", "retry.py"]),
        ("pid 41877 of INC-3317", ["41877", "inc-3317"]),
        ("RetryingGateway.charge()", ["retryinggateway.charge", "retryinggateway"]),
        ("max_standby_streaming_delay = -1", ["max_standby_streaming_delay"]),
        ("6f1c09e0-32aa-4c57-9e0f-5a1f0f0c2b11", ["6f1c09e0-32aa-4c57-9e0f-5a1f0f0c2b11"]),
        ("charge ch_7T0PM of pay_8KQ2Z1.", ["ch_7t0pm", "pay_8kq2z1"]),
        ("just plain words, 5 of them", []),
    ],
)
def test_identifiers(text: str, expected: list[str]) -> None:
    assert identifiers(text) == expected


@pytest.mark.parametrize(
    ("text", "found"),
    [("pid=41877;", True), ("418770", False), ("x41877", False), ("pid_41877", False), ("418770 then 41877", True)],
)
def test_an_identifier_is_found_only_as_a_whole(text: str, found: bool) -> None:
    assert contains(text, "41877") is found


def test_only_both_ends_of_an_enormous_text_are_read() -> None:
    text = "alpha " + "x " * 1_000_000 + " omega"
    assert len(readable(text)) <= MAX_CHARACTERS + 1
    assert {"alpha", "omega"} <= words(readable(text))


@given(ANY_TEXT)
def test_any_text_can_be_split(text: str) -> None:
    assert all(word == word.lower() or not word.isascii() for word in words(text))
    assert all(names(text.lower()))
    assert len(set(identifiers(text))) == len(identifiers(text))


@given(ANY_TEXT)
def test_every_identifier_of_an_ascii_text_is_found_in_it(text: str) -> None:
    text = text.encode("ascii", "ignore").decode()
    assert all(contains(text.lower(), name) for name in identifiers(text) if "_" not in name)
