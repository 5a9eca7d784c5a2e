"""A secret key of a live installation is long, random, and nobody else's."""

import secrets

import pytest

from config.settings.installation import is_weak

RANDOM = "x7Kq-Zw2bNmP9rTvYcLdFgHjx7Kq-Zw2bNmP9rTvYcLdFgHj_1"


@pytest.mark.parametrize(
    "key",
    [
        "",
        RANDOM[:49],
        "x7Kq-Zw2" * 10,
        f"django-insecure-{RANDOM}",
        f"ChangeMe{RANDOM}",
        f"{RANDOM}-secret-key",
    ],
)
def test_a_key_that_is_short_repetitive_or_copied_is_weak(key: str) -> None:
    assert is_weak(key)


@pytest.mark.parametrize("make", [secrets.token_urlsafe, secrets.token_hex])
def test_a_random_key_is_not(make: object) -> None:
    assert not is_weak(RANDOM)
    assert not any(is_weak(make(40)) for _ in range(100))
