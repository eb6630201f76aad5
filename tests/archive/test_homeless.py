"""A user without a home directory, as in many containers."""

import pwd

import pytest

from reme_compact.archive.opening import storage_at
from reme_compact.contract.errors import ConfigurationError


def test_without_a_home_directory_a_tilde_is_a_configuration_error_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def nobody(user_id: int) -> None:
        raise KeyError(user_id)

    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", nobody)
    with pytest.raises(ConfigurationError, match="home directory"):
        storage_at("~/archive")
