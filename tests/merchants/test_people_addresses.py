"""People are known by the key of their e-mail address, in all of its spellings."""

import pytest
from django.core.exceptions import ValidationError
from django.core.mail import EmailMessage
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from core.names import email_key
from merchants import accounts, invitations
from merchants import team as teams
from merchants.apps import people_of_one_address
from merchants.models import Invitation, Member, User
from merchants.refusals import ChangeRefused
from merchants.team import TeamRefused
from tests.stage.client import ApiClient
from tests.stage.database_role import as_owner
from tests.stage.teams import join, person
from tests.stage.visitors import PASSWORD, Visitor, an_operator

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# One address three times, and two of other letters that Python's lower case makes one of.
SPELLINGS = ("Ada@MÜNCHEN.example", " ada@münchen.example", "ADA@xn--mnchen-3ya.example")
KATE, KELVIN = "kate@acme.example", "\u212aate@acme.example"


@pytest.fixture
def owner(acme: ApiClient) -> Member:
    return acme.merchant.members.get(user__email="owner@acme.example")


@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_person_signs_in_by_any_spelling(spelled: str) -> None:
    an_operator(SPELLINGS[0])
    visitor = Visitor()

    visitor.sign_in(PASSWORD, name=spelled)

    assert visitor.is_inside()


def test_the_mail_for_a_new_password_goes_to_the_persons_own_domain(
    mailoutbox: list[EmailMessage],
) -> None:
    # By the IDNA of 2003, in which Django writes domains, this is strasse.example.
    an_operator("ada@straße.example")

    Visitor().http.post("/account/password/reset", {"email": "Ada@Straße.example"})

    assert [mail.message()["To"] for mail in mailoutbox] == ["ada@xn--strae-oqa.example"]


def test_a_stored_address_of_other_letters_is_nobody_elses() -> None:
    kate = an_operator(KATE)
    other = an_operator(KELVIN)
    visitor = Visitor()

    visitor.sign_in(PASSWORD, name=KELVIN)

    assert visitor.is_inside()
    assert (kate.email, other.email) == (KATE, KELVIN)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("spelled", SPELLINGS)
def test_a_second_person_of_one_key_cannot_be_made(spelled: str) -> None:
    User.objects.create_user(SPELLINGS[0])

    with pytest.raises(IntegrityError):
        User.objects.create_user(spelled)


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize("spelled", SPELLINGS)
def test_the_database_takes_no_address_that_is_not_its_key(owner: Member, spelled: str) -> None:
    with pytest.raises(IntegrityError, match="a_users_email_is_its_key"):
        User.objects.create(email=spelled)


def test_the_database_takes_no_invitation_past_the_key(owner: Member) -> None:
    made = invitations.invite(owner, email=SPELLINGS[0], role="support").invitation

    with pytest.raises(IntegrityError, match="an_invitations_email_is_its_key"):
        Invitation.objects.filter(pk=made.pk).update(email=SPELLINGS[0])


def test_an_invitation_is_to_a_key(owner: Member) -> None:
    made = [invitations.invite(owner, email=one, role="support") for one in SPELLINGS]
    ada = person(SPELLINGS[1])

    member = invitations.accept(made[-1].token, ada)

    assert member.user == ada
    assert Invitation.objects.filter(withdrawn_at=None).count() == 1
    with pytest.raises(TeamRefused, match="in the team already"):
        invitations.invite(owner, email=SPELLINGS[2], role="support")


def test_an_account_opened_by_another_spelling_has_the_same_owner(acme: ApiClient) -> None:
    first = accounts.open_account(name="One", email=SPELLINGS[0])
    second = accounts.open_account(name="Two", email=SPELLINGS[2])

    assert first.owner == second.owner
    assert second.password is None


@pytest.mark.parametrize("address", [KELVIN, "ada@\u2603.example"])
def test_a_new_address_without_a_key_is_refused_at_each_door(address: str, owner: Member) -> None:
    merchant = owner.merchant
    with pytest.raises(TeamRefused, match="not an e-mail address"):
        invitations.invite(owner, email=address, role="support")
    with pytest.raises(TeamRefused, match="not an e-mail address"):
        teams.appoint_owner(merchant, address, reason="Lost.")
    with pytest.raises(ValidationError):
        accounts.open_account(name="Three", email=address)
    for name, value in (("email", address), ("notice_emails", [address])):
        with pytest.raises(ChangeRefused):
            accounts.change(merchant, {name: value}, reason="A test.")
    with pytest.raises(CommandError):
        call_command("createsuperuser", interactive=False, email=address)


def test_notices_go_once_to_each_key(owner: Member) -> None:
    with pytest.raises(ChangeRefused, match="named twice"):
        accounts.change(owner.merchant, {"notice_emails": [*SPELLINGS[::2]]}, reason="A test.")


def test_check_lists_people_of_one_key_and_merges_nobody(
    capsys: pytest.CaptureFixture[str], acme: ApiClient
) -> None:
    ada = join(person(SPELLINGS[0]), acme.merchant, "support").user
    assert people_of_one_address(None, databases=["default"]) == []
    with as_owner() as cursor:
        # As in a database of before this constraint.
        cursor.execute("ALTER TABLE merchants_user DROP CONSTRAINT a_users_email_is_its_key")
    other = User.objects.create(email="ada@münchen.example")

    call_command("check", databases=["default"])

    told = capsys.readouterr().err
    assert f"People {ada.pk}, {other.pk} have one e-mail address" in told
    assert User.objects.filter(pk__in=(ada.pk, other.pk)).count() == 2
    assert email_key(other.email) == ada.email
    assert people_of_one_address(None, databases=None) == []
