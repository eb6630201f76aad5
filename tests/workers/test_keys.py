"""Names of keys: apart for every job, owner and deployment."""

import pytest
from reme_workers.keys import PERMANENT_NAMES, Keys


def test_all_keys_of_a_job_share_a_hash_tag() -> None:
    keys = Keys("p:")
    of_job = keys.for_script("a-job")[: -len(PERMANENT_NAMES)]
    assert len(set(of_job)) == 6
    assert all(key.startswith("p:job:{a-job}:") for key in of_job)


def test_every_key_starts_with_the_prefix() -> None:
    keys = Keys("p:")
    named = [keys.jobs_of("anna"), keys.active_of("anna"), keys.idempotency("anna", "k"), keys.channel("a-job")]
    assert all(key.startswith("p:") for key in [*keys.for_script("a-job"), *named])


@pytest.mark.parametrize(
    ("one", "other"), [(("anna", "b"), ("ann", "ab")), (("anna", "k"), ("ben", "k")), (("a", "k"), ("a", "K"))]
)
def test_idempotency_keys_of_two_owners_never_meet(one: tuple[str, str], other: tuple[str, str]) -> None:
    keys = Keys("p:")
    assert keys.idempotency(*one) != keys.idempotency(*other)


def test_a_channel_names_its_job() -> None:
    keys = Keys("p:")
    assert keys.job_of(keys.channel("a-job")) == "a-job"


def test_a_prefix_is_no_pattern() -> None:
    assert Keys("a*[b]?:").channels == r"a\*\[b\]\?:ring:*"
