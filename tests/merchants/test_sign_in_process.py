"""A lock is kept in the database: another process, started later, knows it."""

import re
from typing import Any

import pytest
import requests

from merchants.models import User
from tests.stage.visitors import (
    HTML,
    INSIDE,
    NAME,
    PASSWORD,
    RIGHT,
    SIGN_IN,
    WRONG,
    an_operator,
    statuses,
)
from tests.stage.web_process import WebProcess

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "bank"])


@pytest.fixture(autouse=True)
def operator(settings: Any) -> None:
    # The web process takes real hashes alone, and the tests make cheap ones.
    settings.PASSWORD_HASHERS = ["merchants.passwords.Argon2InTurn"]
    an_operator()


def sign_in(web: WebProcess, password: str) -> int:
    with requests.Session() as browser:
        page = browser.get(web.url + SIGN_IN, headers=HTML, timeout=20).text
        token = re.search(r'csrfmiddlewaretoken" value="(\w+)"', page)[1]
        typed = {"login": NAME, "password": password, "next": INSIDE}
        form = typed | {"csrfmiddlewaretoken": token}
        answer = browser.post(
            web.url + SIGN_IN, form, headers=HTML, timeout=20, allow_redirects=False
        )
        return answer.status_code


@pytest.mark.dear("a web process with the real, slow hash of passwords is started and asked")
def test_what_one_process_has_counted_locks_the_name_in_another(web: WebProcess) -> None:
    assert sign_in(web, PASSWORD) == RIGHT
    statuses(10)

    assert sign_in(web, PASSWORD) == WRONG
    assert User.objects.get(email=NAME).wrong_in_a_row == 11


@pytest.mark.dear("a web process with the real, slow hash of passwords is started and asked")
def test_what_the_web_process_counts_is_seen_here(web: WebProcess) -> None:
    sign_in(web, "wrong")
    statuses(9)

    assert sign_in(web, PASSWORD) == WRONG
    assert "wrong_and_locked_now" not in web.log
    assert '"reason": "locked"' in web.log
    for secret in (NAME, PASSWORD):
        assert secret not in web.log
