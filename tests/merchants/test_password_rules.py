"""New passwords: what is guessed soon is refused, and what an operator had lately."""

from typing import Any

import pytest
from django.contrib.auth.password_validation import validate_password
from django.core import mail
from django.core.exceptions import ValidationError

from merchants import invitations, password_rules
from merchants.models import User
from tests.stage.client import ApiClient
from tests.stage.second_factors import AGAIN
from tests.stage.visitors import NAME, PASSWORD, WRONG, Visitor, an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

WITHOUT_LETTERS = [
    "123456789012", "905321234567", "90 532 123 45 67", "1984-05-17-1984-11-02", "٤٥٦٧٨٩١٢٣٠٤٥٦",
    "4242 4242 4242 4242", "48213.90517?2",
]  # fmt: skip
RUNS = [
    "abcdefghijkl", "ABCDEFGHIJKL", "lkjihgfedcba", "abcdefgh1234", "12345678abcd", "aaaaaaaaaaaa",
    "aaaabbbbcccc", "AAAAaaaa1111", "qwertyuiop12", "poiuytrewq!!", "asdfghjkl123", "qwertyuıopğü",
    "asdfghjklşi1", "abcabcabcabc", "a1b2a1b2a1b2", "Ab1!Ab1!Ab1!Ab", "abababababab",
    "zzzzzzzzzzB1!", "ａｂｃｄｅｆｇｈｉｊｋｌ", "111111111111a",
]  # fmt: skip
GOOD = [
    "a long enough password", "correct horse battery", "7 Zwerge im Wald", "Xk29!pqLm04z",
    "abcd is no way in", "1234 Elm Street", "güçlü bir parola", "hhhrrrmmm but why",
    "mississippi river", "horse-horse-cattle",
]  # fmt: skip


def refusals(password: str, user: User | None = None) -> set[str]:
    """Return the codes for which a password is refused."""
    try:
        validate_password(password, user)
    except ValidationError as problem:
        return {str(one.code) for one in problem.error_list}
    return set()


@pytest.mark.parametrize("password", WITHOUT_LETTERS)
def test_a_password_without_letters_is_refused(password: str) -> None:
    assert "password_without_letters" in refusals(password)


@pytest.mark.parametrize("password", RUNS)
def test_runs_and_repetitions_are_refused(password: str) -> None:
    assert "password_of_runs" in refusals(password)


@pytest.mark.parametrize("password", GOOD)
def test_others_are_taken(password: str) -> None:
    assert refusals(password) == set()


def test_a_run_or_repetition_is_one_thing() -> None:
    assert password_rules.count_things("xabcdy") == 3
    assert password_rules.count_things("abab") == 2
    assert password_rules.count_things("") == 0


# --- Its doors --------------------------------------------------------------------------------

POOR = "abcdefgh1234"
SAID = "Runs such as abcd or 1234"


def by_link(email: str, new: str) -> Any:
    """Ask for a link by mail, and choose a password by it."""
    visitor = Visitor()
    visitor.http.post("/account/password/reset", {"email": email})
    link = next(w for w in mail.outbox[-1].body.split() if "/password/reset/" in w)
    form = visitor.http.get("/" + link.split("/", 3)[3])
    return visitor.http.post(form.url, {"password1": new, "password2": new})


def changed(old: str, new: str) -> Any:
    visitor = Visitor()
    visitor.sign_in(old)
    visitor.http.post(AGAIN, {"password": old})
    return visitor.change_password(old, new)


def test_each_door_to_a_password_asks_the_rules(acme: ApiClient) -> None:
    owner = acme.merchant.members.get()
    token = invitations.invite(owner, email="eve@acme.example", role="support").token
    an_operator()
    invited = Visitor()
    invited.http.get(f"/account/invitation/{token}")

    answers = [
        invited.http.post("/account/invitation", {"password": POOR}),
        changed(PASSWORD, POOR),
        by_link(NAME, POOR),
    ]

    assert [SAID in answer.content.decode() for answer in answers] == [True] * 3
    assert not User.objects.filter(email="eve@acme.example").exists()
    assert User.objects.get(email=NAME).check_password(PASSWORD)


# --- The last four ----------------------------------------------------------------------------

NEW = [f"another {number}th long password" for number in range(1, 6)]


def test_an_operator_takes_none_of_their_last_four() -> None:
    operator = an_operator()
    for old, new in zip([PASSWORD, *NEW], NEW[:4], strict=False):
        assert changed(old, new).status_code == 302
    operator.refresh_from_db()
    assert len(operator.former_passwords) == 3

    refused = [changed(NEW[3], had).status_code for had in NEW[:4]]
    by_mail = by_link(NAME, NEW[0])

    assert refused == [WRONG] * 4
    assert "You had this password before" in by_mail.content.decode()
    assert changed(NEW[3], PASSWORD).status_code == 302  # The fifth.


def test_a_link_by_mail_is_remembered_too() -> None:
    an_operator()
    by_link(NAME, NEW[0])

    assert refusals(PASSWORD, User.objects.get(email=NAME)) == {"password_had_before"}
    assert refusals(NEW[0], User.objects.get(email=NAME)) == {"password_had_before"}


def test_of_others_no_password_is_kept(acme: ApiClient) -> None:
    owner = acme.merchant.members.get().user
    for password in (NEW[0], NEW[1]):
        password_rules.replace(owner, password)

    owner.refresh_from_db()
    assert owner.check_password(NEW[1])
    assert owner.former_passwords == []
    assert refusals(NEW[0], owner) == set()
