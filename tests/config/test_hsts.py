"""HSTS speaks of other hosts than ours only if the operator asks for it."""

import pytest

from tests.stage.processes import run

HTTPS = {"BASE_URL": "https://127.0.0.1"}
ASKS = """
import django
django.setup()
from django.test import Client
answer = Client().get("/livez", secure=True, headers={"Host": "127.0.0.1"})
print(answer.headers.get("Strict-Transport-Security"))
"""
YEAR = "max-age=31536000"


@pytest.mark.every_case("each setting has its part")
@pytest.mark.parametrize(
    ("settings", "sent"),
    [
        ({"BASE_URL": "http://127.0.0.1"}, "None"),
        (HTTPS, YEAR),
        ({**HTTPS, "HSTS_INCLUDE_SUBDOMAINS": "true"}, f"{YEAR}; includeSubDomains"),
        (
            {**HTTPS, "HSTS_INCLUDE_SUBDOMAINS": "true", "HSTS_PRELOAD": "true"},
            f"{YEAR}; includeSubDomains; preload",
        ),
    ],
)
def test_the_header_speaks_of_other_hosts_if_asked_to(settings: dict[str, str], sent: str) -> None:
    status, said = run("-c", ASKS, LOG_LEVEL="ERROR", **settings)

    assert (status, said) == (0, f"{sent}\n")


def test_check_does_not_ask_for_what_may_be_off() -> None:
    status, said = run("manage.py", "check", "--deploy", **HTTPS)

    assert "security.W005" not in said
    assert "security.W021" not in said
    assert (status, "silenced" in said) == (0, True), said
