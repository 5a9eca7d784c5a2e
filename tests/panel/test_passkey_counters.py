"""A passkey that counts backward is told by mail: it may be in two places."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core import mail

from merchants import second_factors
from merchants.models import User
from tests.stage.passkeys import Passkey
from tests.stage.second_factors import CODE
from tests.stage.threads import together
from tests.stage.visitors import HTML, NAME, PASSWORD, Visitor, an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

AGAIN = "/account/passkeys/again"
SUBJECT = "One of your passkeys may have been copied"


@pytest.fixture
def operator(db: None) -> User:
    return an_operator()


def told() -> int:
    return len([one for one in mail.outbox if one.subject == SUBJECT])


def by_passkey_alone(key: Passkey, counter: int) -> Visitor:
    return key.sign_in(counter)


def by_second_step(key: Passkey, counter: int) -> Visitor:
    visitor = Visitor()
    visitor.sign_in(PASSWORD)
    send(visitor, CODE, key, counter)
    return visitor


def by_asking_again(key: Passkey, counter: int) -> Visitor:
    visitor = by_second_step(key, 1_000_000)
    mail.outbox.clear()
    key.row.refresh_from_db()
    key.row.data["counter"] = 9
    key.row.save()
    send(visitor, AGAIN, key, counter)
    return visitor


def send(visitor: Visitor, page: str, key: Passkey, counter: int) -> None:
    options = visitor.http.get(page, headers=HTML).context["js_data"]["request_options"]
    typed = {"credential": key.answer(options, counter=counter)}
    assert visitor.http.post(page, typed, headers=HTML).status_code == 302


@pytest.mark.parametrize("way", [by_passkey_alone, by_second_step, by_asking_again])
def test_a_counter_that_goes_back_is_told_and_lets_in(
    operator: User, way: Callable[[Passkey, int], Visitor]
) -> None:
    key = Passkey(operator, counter=9)

    visitor = way(key, 8)

    assert visitor.is_inside()
    [letter] = [one for one in mail.outbox if one.subject == SUBJECT]
    assert letter.to == [NAME]
    assert all(part in letter.body for part in ("Laptop", "203.0.113.7", "/account/passkeys"))


def test_one_that_counts_on_is_not_told(operator: User) -> None:
    key = Passkey(operator, counter=3)

    for counter in (4, 5, 400):
        assert key.sign_in(counter).is_inside()
    assert told() == 0
    # The copy stands where the key was when it was copied.
    key.sign_in(5)
    key.sign_in(400)
    assert told() == 2
    key.sign_in(401)
    assert told() == 2


def test_one_that_counts_nothing_tells_nothing(operator: User) -> None:
    key = Passkey(operator)

    for _ in range(3):
        assert key.sign_in(0).is_inside()

    assert told() == 0


def test_one_that_has_counted_and_now_says_nothing_is_told(operator: User) -> None:
    key = Passkey(operator)
    key.sign_in(7)
    key.sign_in(0)

    assert told() == 1


def test_the_mail_is_in_the_persons_language(operator: User) -> None:
    User.objects.update(language="tr")

    Passkey(operator, counter=9).sign_in(8)

    assert any("geçiş anahtarınız" in letter.body for letter in mail.outbox)


def test_a_forged_use_says_nothing(operator: User) -> None:
    key, other = Passkey(operator, counter=9), Passkey(operator, counter=9)
    key._key = other._key

    assert not key.sign_in(8).is_inside()
    assert told() == 0


def test_whoever_is_switched_off_gets_in_by_no_passkey(operator: User) -> None:
    User.objects.update(is_active=False)

    assert not Passkey(operator).sign_in(0).is_inside()


@pytest.mark.django_db(transaction=True, databases=["default", "bank"])
def test_of_two_uses_at_once_the_most_is_kept() -> None:
    key = Passkey(an_operator())

    def use(counter: int) -> Any:
        return second_factors.counts_on(key.row, counter)

    together([lambda counter=counter: use(counter) for counter in (5, 3, 4, 5, 2)])

    key.row.refresh_from_db()
    assert key.row.data["counter"] == 5
