"""An account that is unused for 90 days is locked, a week after a warning by mail."""

import re
from datetime import timedelta

import pytest
from django.core import mail
from django.urls import reverse
from django.utils import timezone

from merchants import accounts, tasks, team, unused_accounts
from merchants.models import AuditEntry, Member, Merchant, Session, User
from tests.stage.client import ApiClient
from tests.stage.second_factors import CODE, add_app, code, send_code
from tests.stage.teams import join, let_in, person
from tests.stage.visitors import HTML, PASSWORD, Visitor

pytestmark = pytest.mark.django_db(databases=["default", "bank"], transaction=True)

ADA = "ada@acme.example"
AFTER_RESET = "another long enough 7 word"


@pytest.fixture
def merchant(acme: ApiClient) -> Merchant:
    return acme.merchant


@pytest.fixture
def ada(merchant: Merchant) -> User:
    """A member of Acme's team who has not signed in for 84 days."""
    user = person(ADA)
    user.set_password(PASSWORD)
    user.save()
    join(user, merchant, "developer")
    return unused(user, 84)


def unused(user: User, days: int) -> User:
    long_ago = timezone.now() - timedelta(days=days)
    User.objects.filter(pk=user.pk).update(last_login=long_ago, date_joined=long_ago)
    Session.objects.filter(user=user).delete()
    return User.objects.get(pk=user.pk)


def lock(user: User) -> User:
    """Let a week pass after the warning, and look again."""
    unused_accounts.watch()
    unused_accounts.watch(timezone.now() + timedelta(days=7, minutes=1))
    return User.objects.get(pk=user.pk)


def actions(user: User) -> list[str]:
    rows = AuditEntry.objects.filter(chain=f"user:{user.pk}").order_by("sequence")
    return list(rows.values_list("action", flat=True))


def test_those_who_stay_open_keep_no_other_from_the_watch(
    merchant: Merchant, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    owners = User.objects.filter(memberships__merchant=merchant, memberships__role="owner")
    assert unused(owners.get(), 200).pk < ada.pk
    monkeypatch.setattr(unused_accounts, "CHUNK", 1)

    assert lock(ada).locked_unused_at is not None
    assert owners.get().locked_unused_at is None


def test_an_owner_who_is_locked_is_no_other_owner(merchant: Merchant) -> None:
    [owner] = Member.objects.filter(merchant=merchant, role="owner")
    other = person(ADA)
    join(other, merchant, "owner")
    User.objects.filter(pk=other.pk).update(locked_unused_at=timezone.now())

    with pytest.raises(team.LastOwner):
        team.require_another_owner(owner)


def test_a_week_before_the_person_and_the_owners_are_told_once(
    merchant: Merchant, ada: User
) -> None:
    tasks.watch_unused_accounts()
    tasks.watch_unused_accounts()

    owner = Member.objects.get(merchant=merchant, role="owner").user
    assert sorted(one.to for one in mail.outbox) == sorted([[ADA], [owner.email]])
    assert all(ADA in one.body and "/account/login" in one.body for one in mail.outbox)
    assert User.objects.get(pk=ada.pk).locked_unused_at is None


def test_it_is_locked_a_week_after_and_its_sessions_end(ada: User) -> None:
    assert lock(ada).locked_unused_at is not None

    assert actions(ada) == ["person.locked_unused"]


@pytest.mark.parametrize("days", [0, 82])
def test_an_account_in_use_is_left_alone(ada: User, days: int) -> None:
    unused(ada, days)

    assert unused_accounts.watch() == (0, 0)
    assert not mail.outbox


def test_a_look_at_a_page_is_use(client: object, ada: User) -> None:
    let_in(client, ada)
    long_ago = timezone.now() - timedelta(days=84)
    User.objects.filter(pk=ada.pk).update(last_login=long_ago, date_joined=long_ago)

    assert unused_accounts.watch() == (0, 0)


def test_nobody_is_locked_without_a_week_of_warning(ada: User) -> None:
    unused(ada, 400)

    assert unused_accounts.watch() == (1, 0)


def test_whoever_signs_in_after_the_warning_stays(ada: User) -> None:
    unused_accounts.watch()
    User.objects.filter(pk=ada.pk).update(last_login=timezone.now())

    assert unused_accounts.watch(timezone.now() + timedelta(days=7, minutes=1)) == (0, 0)


def test_the_last_owner_stays_and_another_one_does_not(merchant: Merchant) -> None:
    owner = unused(Member.objects.get(merchant=merchant, role="owner").user, 100)
    assert lock(owner).locked_unused_at is None

    second = join(person("second@acme.example"), merchant, "owner").user

    assert lock(owner).locked_unused_at is not None
    assert lock(unused(second, 100)).locked_unused_at is None


def test_two_owners_are_not_locked_together(merchant: Merchant) -> None:
    first = unused(Member.objects.get(merchant=merchant, role="owner").user, 100)
    second = unused(join(person("second@acme.example"), merchant, "owner").user, 100)

    lock(first)

    locked = User.objects.filter(pk__in=[first.pk, second.pk], locked_unused_at__isnull=False)
    assert locked.count() == 1


def test_the_last_operator_stays_and_others_are_told_of_another_one(merchant: Merchant) -> None:
    one = unused(User.objects.create_superuser("one@pay.example", PASSWORD), 100)
    assert lock(one).locked_unused_at is None
    User.objects.create_superuser("two@pay.example", PASSWORD)

    assert lock(one).locked_unused_at is not None
    assert {to for letter in mail.outbox for to in letter.to} == {
        "one@pay.example", "two@pay.example",
    }  # fmt: skip


def test_a_locked_person_comes_back_by_mail_and_second_factor(ada: User) -> None:
    add_app(ada)
    lock(ada)
    mail.outbox.clear()
    visitor = Visitor("203.0.113.7")

    refused = visitor.sign_in(PASSWORD, ADA)
    assert refused.headers["Location"] == reverse("account_reset_password")
    page = visitor.http.get(refused.headers["Location"], headers=HTML).content.decode()
    assert "Nobody used your account for 90 days" in page
    choose_another_password(visitor)
    assert User.objects.get(pk=ada.pk).locked_unused_at is None
    assert visitor.sign_in(AFTER_RESET, ADA).headers["Location"] == CODE
    send_code(visitor, code())

    assert actions(ada)[-3:] == ["password.changed", "person.came_back", "sign_in.succeeded"]
    assert unused_accounts.watch() == (0, 0)


def choose_another_password(visitor: Visitor) -> None:
    visitor.http.post(reverse("account_reset_password"), {"email": ADA}, headers=HTML)
    [letter] = mail.outbox
    link = re.search(r"https?://[^/]+(/account/password/reset/\S+)", str(letter.body))
    assert link
    page = visitor.http.get(link[1], headers=HTML)
    typed = {"password1": AFTER_RESET, "password2": AFTER_RESET}
    visitor.http.post(page.headers["Location"], typed, headers=HTML)


# --- A password that a command printed --------------------------------------------------------


def test_a_printed_password_is_changed_at_first_use(settings: object) -> None:
    settings.LIVEMODE = True  # type: ignore[attr-defined]
    opened = accounts.open_account(name="Shop", email="o@shop.example")
    settings.LIVEMODE = False  # type: ignore[attr-defined]
    visitor, page = Visitor("203.0.113.7"), reverse("account_change_password")
    assert opened.password
    visitor.sign_in(opened.password, "o@shop.example")

    led = visitor.http.get(f"/panel/{opened.merchant.id}/payments", headers=HTML)
    shown = visitor.http.get(page, headers=HTML).content.decode()
    typed = {"oldpassword": opened.password}
    same = {**typed, "password1": opened.password, "password2": opened.password}
    kept = visitor.http.post(page, same, headers=HTML).status_code
    visitor.http.post(
        page, {**typed, "password1": AFTER_RESET, "password2": AFTER_RESET}, headers=HTML
    )
    free = visitor.http.get(f"/panel/{opened.merchant.id}/payments", headers=HTML)

    assert (led.status_code, led.headers["Location"]) == (303, page)
    assert "Choose one of your own" in shown
    assert kept != 302
    assert free.status_code == 200


def test_the_password_of_a_sandbox_may_stay() -> None:
    accounts.open_account(name="Shop", email="o@shop.example")

    assert not User.objects.get(email="o@shop.example").is_password_printed
