"""The keys for hashes and security codes are changed one purpose at a time, and nothing is lost."""

import base64
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.core.management import CommandError
from django.db import transaction
from django.test import Client
from django.utils import timezone

from audit import keys as audit_keys
from audit.daily import digests
from audit.daily.models import DayDigest
from core import heartbeat, keyring
from core.keyring import KeyRing, needs
from core.keyring.file import content_of
from core.models import Process
from merchants import audit_chains, audit_log, invitations, keys, second_factors, sessions
from merchants.models import (
    ApiKey,
    AuditEntry,
    IdempotencyKey,
    Invitation,
    Member,
    OperatorInvitation,
    Session,
)
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.factories import payment
from tests.stage.key_change import (
    KeyChange,
    PurposeChange,
    keyring_command,
    rotate,
    seal_with_a_lost_key,
)
from tests.stage.second_factors import SEED, add_app, add_recovery_codes
from tests.stage.teams import person
from tests.stage.visitors import NAME, PASSWORD, Visitor, an_operator
from vault import cvc, peers
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

# The heartbeat has a connection of its own.
beside_others = pytest.mark.django_db(transaction=True, databases=["default", "bank"])
DAY = timedelta(days=1)
PAYMENTS = "/v1/payment_intents"


@pytest.fixture
def change(key_change: KeyChange, request: pytest.FixtureRequest) -> PurposeChange:
    return PurposeChange(key_change.path, getattr(request, "param", "link"))


@pytest.fixture(autouse=True)
def _this_process_ends() -> Iterator[None]:
    yield
    heartbeat.end()


def of(purpose: str) -> Any:
    return pytest.mark.parametrize("change", [purpose], indirect=True)


# --- The steps --------------------------------------------------------------------------------


@of("session")
def test_a_key_of_a_purpose_is_changed_by_the_same_steps(change: PurposeChange) -> None:
    before = keyring.ring().mac("session", b"x")

    change.add()
    assert keyring.ring().mac("session", b"x") == before
    change.promote()
    assert keyring.ring().mac("session", b"x") != before
    assert before in keyring.ring().macs("session", b"x")
    change.retire(ago=8 * DAY)
    change.purge()

    assert keyring.ring().names("session") == (change.new,)
    assert before not in keyring.ring().macs("session", b"x")
    shown = keyring_command("show")
    assert f"{change.old}  session  made " in shown
    assert f"{change.new}  session  made " in shown


@pytest.mark.parametrize("change", ["link", "session", "cvc", "idempotency"], indirect=True)
def test_what_still_serves_is_not_purged_and_its_reason_is_shown(change: PurposeChange) -> None:
    change.begin()
    change.retire()

    with pytest.raises(CommandError, match=f"{change.old} is needed: .* made with it until 20"):
        change.purge()

    assert change.old in keyring.ring().names(change.purpose)
    assert f"{change.old} is needed: " in keyring_command("show")


def test_each_purpose_says_why_its_retired_keys_are_needed() -> None:
    assert needs.purposes() == set(keyring.PURPOSES)


def test_the_primary_key_of_a_purpose_is_not_removed(change: PurposeChange) -> None:
    with pytest.raises(CommandError, match="link is the primary key"):
        keyring_command("remove", "link")


def test_a_retired_key_of_a_purpose_is_not_promoted(change: PurposeChange) -> None:
    change.begin()
    change.retire()

    with pytest.raises(CommandError, match="link is retired"):
        keyring_command("promote", "link")


@beside_others
def test_a_process_of_yesterday_holds_each_step_back(change: PurposeChange) -> None:
    heartbeat.write_down("web")
    yesterdays = Process.objects.get()
    change.add()
    with pytest.raises(CommandError, match=f"These processes lack {change.new}: web on"):
        change.promote()

    Process.objects.update(key_ids=[*yesterdays.key_ids, change.new])
    change.promote()
    with pytest.raises(CommandError, match=f"seal with link and not with {change.new}: web on"):
        change.retire()

    yesterdays.delete()
    change.retire()


@beside_others
def test_a_process_with_yesterdays_ring_does_not_start_beside_a_new_key(
    change: PurposeChange,
) -> None:
    yesterdays = keyring.ring()
    change.begin()
    heartbeat.write_down("web")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keyring, "ring", lambda: yesterdays)
        with pytest.raises(keyring.KeyRingError, match=f"lacks {change.new}, which web on"):
            peers.join("worker")


@beside_others
def test_a_process_that_missed_the_change_does_not_start_beside_a_retired_key(
    change: PurposeChange,
) -> None:
    change.add()
    missed_it = keyring.ring()
    change.promote()
    heartbeat.write_down("web")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keyring, "ring", lambda: missed_it)
        peers.join("worker")
        heartbeat.end()

    change.retire()
    heartbeat.write_down("web")
    peers.join("worker")

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(keyring, "ring", lambda: missed_it)
        with pytest.raises(keyring.KeyRingError, match="makes hashes with link, which was retired"):
            peers.join("worker")


@beside_others
def test_a_process_that_beats_again_holds_the_removal_back(
    change: PurposeChange, monkeypatch: pytest.MonkeyPatch
) -> None:
    heartbeat.write_down("web")
    yesterdays = Process.objects.get()
    heartbeat.end()
    change.begin()

    def beat(_seconds: float) -> None:
        yesterdays.key_ids = [*yesterdays.key_ids, change.new]
        yesterdays.seen_at = timezone.now()
        yesterdays.save(force_insert=True)

    monkeypatch.setattr(peers.time, "sleep", beat)
    with pytest.raises(CommandError, match=f"seal with link and not with {change.new}: web on"):
        change.retire()


def test_a_key_that_is_put_back_was_retired_when_it_was(
    change: PurposeChange, tmp_path: Any
) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(change.path.read_bytes())
    copy.chmod(0o400)
    change.begin()
    change.retire(ago=32 * DAY)
    retired_at = keyring.ring().retired_at["link"]
    change.purge()

    keyring_command("put-back", "link", "--from", copy)

    keyring.ring.cache_clear()
    assert keyring.ring().retired_at["link"] == retired_at


def test_a_lost_key_of_a_purpose_is_put_back_as_a_retired_one(
    change: PurposeChange, tmp_path: Any
) -> None:
    copy = tmp_path / "copy"
    copy.write_bytes(change.path.read_bytes())
    copy.chmod(0o400)
    before = keyring.ring().mac("link", b"x")
    change.begin()
    change.retire(ago=32 * DAY)
    change.purge()

    assert "as a retired key" in keyring_command("put-back", "link", "--from", copy)

    keyring.ring.cache_clear()
    assert keyring.ring().macs("link", b"x")[1] == before
    assert keyring.ring().retired >= {"link"}


def test_the_first_key_for_security_codes_goes_too(key_change: KeyChange) -> None:
    change = PurposeChange(key_change.path, "cvc")
    change.begin()
    change.retire(ago=DAY)
    change.purge()

    assert "cvc" not in content_of(change.path)
    assert keyring.ring().names("cvc") == (change.new,)


# --- What was made with the earlier key -------------------------------------------------------


@of("link")
def test_a_payment_pages_address_works_until_its_key_is_purged(
    acme: ApiClient, change: PurposeChange
) -> None:
    earlier = opened(acme)["url"]
    path = earlier[earlier.index("/pay/") :]
    change.begin()
    page = Client()

    assert page.get(path).status_code == 203
    again = acme.get(f"/v1/checkout/sessions/{path[5:].partition('.')[0]}")["url"]
    assert again != earlier
    assert page.get(again[again.index("/pay/") :]).status_code == 203

    change.retire(ago=32 * DAY)
    change.purge()
    assert page.get(path).status_code == 404


@of("session")
def test_people_stay_signed_in(change: PurposeChange) -> None:
    an_operator()
    visitor = Visitor()
    visitor.sign_in(PASSWORD, NAME)
    change.begin()
    change.retire()

    assert visitor.is_inside()


@of("cvc")
def test_a_security_code_that_is_held_opens(change: PurposeChange) -> None:
    cvc.hold("tok_a", "987")
    change.begin()

    assert cvc.look("tok_a") == "987"


@of("idempotency")
def test_a_retry_is_known_by_either_key(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    first = acme.post(PAYMENTS, payment(), idempotency_key="k")
    seen = len(bank.seen)
    change.begin()

    again = acme.post(PAYMENTS, payment(), idempotency_key="k")
    other = acme.post(PAYMENTS, payment(amount=7), idempotency_key="k")

    assert (again.status, again["id"]) == (200, first["id"])
    assert other.refusal[1] == "idempotency_key_reused"
    assert len(bank.seen) == seen


@beside_others
@of("second_factor")
def test_second_factors_are_sealed_again_before_their_key_goes(change: PurposeChange) -> None:
    person = an_operator()
    add_app(person)
    add_recovery_codes(person)
    change.begin()
    change.retire()
    with pytest.raises(CommandError, match="2 second factors are sealed with it: run"):
        change.purge()

    assert "second factors: 2 renewed" in rotate()
    change.purge()

    app = Authenticator.objects.get(type=Authenticator.Type.TOTP)
    assert second_factors.opened(app.data["secret"]) == SEED
    assert "second factors" not in rotate()


@of("second_factor")
@pytest.mark.parametrize("broken", ["A", "AAAA"])
def test_a_broken_second_factor_holds_up_no_other(broken: str, change: PurposeChange) -> None:
    person = an_operator()
    add_app(person)
    add_recovery_codes(person)
    app = Authenticator.objects.get(type=Authenticator.Type.TOTP)
    codes = Authenticator.objects.get(type=Authenticator.Type.RECOVERY_CODES)
    app.data["secret"], codes.data["migrated_codes"] = broken, [broken]
    app.save()
    codes.save()
    change.begin()
    change.retire()
    with pytest.raises(CommandError, match="1 second factors are sealed with it: run"):
        change.purge()

    assert "second factors: 1 renewed" in rotate()
    change.purge()

    app.refresh_from_db()
    assert app.data["secret"] == broken


# --- API keys ---------------------------------------------------------------------------------


@of("api_key")
def test_an_api_key_is_hashed_again_at_its_next_use(
    acme: ApiClient, globex: ApiClient, change: PurposeChange
) -> None:
    change.add()
    assert acme.get(PAYMENTS).status == 200
    assert set(ApiKey.objects.values_list("hashed_with", flat=True)) == {"api_key"}
    change.promote()
    assert acme.get(PAYMENTS).status == 200
    change.retire()

    unused = ApiKey.objects.get(merchant=globex.merchant)
    with pytest.raises(CommandError, match=f"1 API keys were not used .*, {unused.id}: let them"):
        change.purge()
    assert globex.get(PAYMENTS).status == 200
    change.purge()

    assert (acme.get(PAYMENTS).status, globex.get(PAYMENTS).status) == (200, 200)
    assert audit_keys.check().differences == []


@of("api_key")
def test_api_keys_that_nobody_used_are_revoked_only_if_that_is_said(
    acme: ApiClient, globex: ApiClient, change: PurposeChange
) -> None:
    change.begin()
    acme.get(PAYMENTS)
    change.retire()

    assert "Revoked 1 API keys." in change.purge("--revoke-unused")

    assert (acme.get(PAYMENTS).status, globex.get(PAYMENTS).status) == (200, 401)
    revoked = AuditEntry.objects.get(action="key.revoked")
    assert revoked.reason == "Not used before api_key was purged."


def test_a_key_that_is_used_as_it_would_be_revoked_stays(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    stale = ApiKey.objects.select_related("merchant").get()
    ApiKey.objects.update(hashed_with="api_key-new")  # Its use, after it was looked for.
    monkeypatch.setattr(keys, "_live_with", lambda _name: [stale])

    assert keys.revoke_unused("api_key") == 0

    assert ApiKey.objects.get().revoked_at is None


def test_only_api_keys_are_revoked(change: PurposeChange) -> None:
    change.begin()
    change.retire(ago=32 * DAY)

    with pytest.raises(CommandError, match="is of keys of api_key alone"):
        change.purge("--revoke-unused")


def test_the_audit_finds_an_api_key_of_a_purged_key(acme: ApiClient) -> None:
    assert audit_keys.check().looked_at == 1
    ApiKey.objects.update(hashed_with="api_key-gone")

    [difference] = audit_keys.check().differences

    assert "is made with api_key-gone, which the key ring lacks" in difference


# --- The audit --------------------------------------------------------------------------------


def _plant_api_key(_row: str) -> None:
    ApiKey.objects.update(hashed_with="api_key-0123456789")


def _plant_mark(model: Any, column: str) -> Callable[[str], None]:
    mark = b"0123456789." + b"x" * 32
    return lambda _row: model.objects.update(**{column: mark})


def _plant_session(_row: str) -> None:
    other = KeyRing(primary="k", encryption={"k": b"k" * 32}, mac={"session": b"s" * 32})
    row = Session.objects.get()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sessions, "ring", lambda: other)
        row.session_data = sessions._sealed({sessions.BEGUN_AT: 0.0}, row.session_key)
    row.save()


def _plant_second_factor(_row: str) -> None:
    other = KeyRing(primary="k", encryption={"k": b"k" * 32}, mac={"second_factor": b"s" * 32})
    row = Authenticator.objects.get()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(second_factors, "ring", lambda: other)
        row.data["secret"] = second_factors.seal(SEED)
    row.save()


def _plant_sealed(_row: str) -> None:
    seal_with_a_lost_key(SealedCard.objects.get())


PLANTED: dict[str, tuple[Callable[[str], None], str]] = {
    "api_key": (_plant_api_key, "API key .* is made with api_key-0123456789"),
    "link": (_plant_mark(Invitation, "token_hash"), "invitation .* with link-0123456789"),
    "link of an operator": (
        _plant_mark(OperatorInvitation, "token_hash"), "invitation .* with link-0123456789",
    ),
    "idempotency": (
        _plant_mark(IdempotencyKey, "fingerprint"),
        r"Idempotency-Key \(1 requests\) is made with idempotency-0123456789",
    ),
    "session": (_plant_session, "session .* opens by no key"),
    "second_factor": (_plant_second_factor, "second factor .* opens by no key"),
    "sealed": (_plant_sealed, r"vault.SealedCard.sealed \(1 rows, tok_.* is made with k_lost"),
}  # fmt: skip


@pytest.mark.parametrize("kind", PLANTED)
def test_the_audit_finds_a_row_of_a_purged_key(
    kind: str, acme: ApiClient, bank: BankTransport
) -> None:
    operator = an_operator()
    add_app(operator)
    Visitor().sign_in(PASSWORD, NAME)
    acme.post(PAYMENTS, payment(), idempotency_key="k")
    owner = Member.objects.get(user=person("o@acme.example", (acme.merchant, "owner")))
    invitations.invite(owner, email="new@acme.example", role="owner")
    OperatorInvitation.objects.create(
        id="oin_1", email="new@pay.example", token_hash=invitations.hash_of("t"), groups=[],
        invited_by=operator, created_at=timezone.now(), expires_at=timezone.now() + DAY,
    )  # fmt: skip
    sound = audit_keys.check()
    assert (sound.differences, sound.looked_at > 9) == ([], True)
    plant, said = PLANTED[kind]

    plant(kind)

    [difference] = audit_keys.check().differences
    assert re.match(said, difference), difference


@of("idempotency")
def test_the_audit_knows_the_rows_of_each_key_that_is_held(
    acme: ApiClient, bank: BankTransport, change: PurposeChange
) -> None:
    acme.post(PAYMENTS, payment(), idempotency_key="before")
    change.begin()
    acme.post(PAYMENTS, payment(), idempotency_key="after")

    assert audit_keys.check().differences == []
    change.retire(ago=4 * DAY)
    change.purge()

    [difference] = audit_keys.check().differences
    assert "Idempotency-Key (1 requests) is made with idempotency," in difference


# --- The audit log ----------------------------------------------------------------------------


def problems() -> list[str]:
    found: list[str] = []
    audit_chains.verify(tell=lambda problem: found.append(str(problem)))
    return found


@of("audit_log")
def test_the_audit_log_goes_on_under_a_new_key_and_proves_the_rows_of_before(
    acme: ApiClient, change: PurposeChange
) -> None:
    day = timezone.now()
    digests.make_due(day)
    change.begin()
    digests.make_due(day + DAY)
    change.retire()

    assert DayDigest.objects.count() == 4
    assert problems() == []
    assert digests.verify(tell=lambda _: None, show=lambda _: None, older=[]).problems == 0
    with pytest.raises(CommandError, match="it proves the rows of the audit log until 20"):
        change.purge()


@of("audit_log")
def test_digests_of_days_keep_the_key_that_proves_them(change: PurposeChange) -> None:
    digests.make_due(timezone.now())
    change.begin()
    change.retire()

    reasons = [line for line in keyring_command("show").splitlines() if "is needed: " in line]

    assert f"{change.old} is needed: it proves the digests of days until 20" in " ".join(reasons)


@of("audit_log")
def test_a_row_that_a_retired_key_has_made_since_is_found(change: PurposeChange) -> None:
    change.begin()
    earlier = KeyRing(
        primary="k", encryption={"k": b"k" * 32},
        mac={"audit_log": base64.b64decode(content_of(change.path)["mac"]["audit_log"])},
    )  # fmt: skip
    change.retire()
    assert problems() == []

    later = timezone.now() + DAY
    with pytest.MonkeyPatch.context() as patched, transaction.atomic():
        patched.setattr(audit_log, "ring", lambda: earlier)
        patched.setattr(timezone, "now", lambda: later)
        audit_log.record("holiday.added", merchant=None, subject="2026-01-01")

    [problem] = problems()
    assert "the row was made with audit_log, which was retired by then" in problem


@of("audit_log")
def test_a_row_under_a_purged_key_is_found(acme: ApiClient, change: PurposeChange) -> None:
    change.begin()
    change.retire()
    keyring.purge(change.path, change.old)
    keyring.ring.cache_clear()

    assert any("was changed or moved" in problem for problem in problems())
