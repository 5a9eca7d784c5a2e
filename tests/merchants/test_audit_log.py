"""The audit log: what a row says, and that nobody changes one."""

import pytest
from django.db import DatabaseError, connection

from core import context
from core.context import ActorKind
from core.keyring import ring
from merchants import audit_log, keys
from merchants.models import AuditEntry, AuditHead, Merchant, User
from tests.stage.database_role import as_owner
from tests.stage.factories import GOOD_CARD, MerchantFactory

pytestmark = pytest.mark.django_db(databases=["default", "bank"])


@pytest.fixture
def merchant(db: None) -> Merchant:
    return MerchantFactory()


def last_row() -> AuditEntry:
    return AuditEntry.objects.latest("created_at", "sequence")


def test_a_row_names_actor_address_and_request(merchant: Merchant) -> None:
    with context.work() as work:
        context.act_as(ActorKind.OPERATOR, "7", "operator@example.com")
        work.address = "203.0.113.9"
        key, _secret = keys.create(merchant, name="Shop")

    row = last_row()
    assert (row.action, row.subject, row.merchant) == ("key.created", key.id, merchant)
    assert (row.actor, row.actor_id, row.actor_name) == ("operator", "7", "operator@example.com")
    assert (row.address, row.request_id) == ("203.0.113.9", work.request_id)


def test_work_within_work_is_done_by_the_same_actor(merchant: Merchant) -> None:
    with context.work() as outer:
        context.act_as(ActorKind.OPERATOR, "7")
        outer.address = "203.0.113.9"
        with context.work():
            keys.create(merchant, name="Shop")

    assert (last_row().actor, last_row().address) == ("operator", "203.0.113.9")


def test_each_chain_is_numbered_from_one(merchant: Merchant) -> None:
    other, person = MerchantFactory(), User.objects.create_user("ada@acme.example")
    audit_log.record("limit.changed", merchant=merchant, subject="try")
    audit_log.record("limit.changed", merchant=other, subject="try")
    audit_log.record("limit.changed", merchant=merchant, subject="usd")
    audit_log.record("bins.imported", merchant=None, subject="1")
    audit_log.record_of_person("password.changed", person)

    rows = AuditEntry.objects.values_list("chain", "sequence")
    assert sorted(rows) == sorted(
        [
            (f"merchant:{merchant.id}", 1),
            (f"merchant:{other.id}", 1),
            (f"merchant:{merchant.id}", 2),
            ("installation", 1),
            (f"user:{person.pk}", 1),
        ]
    )
    assert AuditHead.objects.get(chain=f"merchant:{merchant.id}").sequence == 2


def test_an_action_that_is_not_listed_is_a_bug(merchant: Merchant) -> None:
    with pytest.raises(ValueError, match="no action"):
        audit_log.record("key.looked_at", merchant=merchant, subject="key_1")


@pytest.mark.every_case("what the database itself refuses")
@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE merchants_auditentry SET reason = 'x'",
        "DELETE FROM merchants_auditentry",
        "TRUNCATE merchants_auditentry CASCADE",
        "DELETE FROM merchants_audithead",
        "TRUNCATE merchants_audithead",
        "UPDATE merchants_audithead SET sequence = sequence - 1",
        "UPDATE merchants_audithead SET chain = 'installation'",
    ],
)
def test_the_database_refuses_to_change_a_row(merchant: Merchant, statement: str) -> None:
    audit_log.record("limit.changed", merchant=merchant, subject="try")
    audit_log.record("limit.changed", merchant=merchant, subject="usd")

    # A table whose foreign keys are still to be checked cannot be truncated anyway.
    connection.check_constraints()

    with pytest.raises(DatabaseError, match="append-only"), as_owner() as cursor:
        cursor.execute(statement)


SECRETS = {
    "card": GOOD_CARD,
    "grouped": "4242 4242 4242 4242",
    "api key": keys.new_secret,
    "signing secret": "whsec_" + "a1B2" * 8,
}


@pytest.mark.every_case("no card number, code or secret may leak, wherever it stands")
@pytest.mark.parametrize("name", SECRETS)
def test_no_secret_is_kept_wherever_it_stands(merchant: Merchant, name: str) -> None:
    secret = SECRETS[name] if isinstance(SECRETS[name], str) else SECRETS[name]()  # type: ignore[operator]

    audit_log.record(
        "endpoint.updated",
        merchant=merchant,
        subject=f"https://acme.example/{secret}",
        before={"description": f"it was {secret}", "deep": [{"url": secret}]},
        after={"metadata": {"note": secret}, secret: "as a name"},
        reason=f"because of {secret}",
    )

    assert secret not in whole_table()


def test_no_password_hash_is_kept(merchant: Merchant) -> None:
    user = User.objects.create_user("ada@acme.example", "a long enough password")

    audit_log.record(
        "member.added", merchant=merchant, subject="1", after={"password": user.password}
    )

    assert user.password not in whole_table()


def test_a_new_key_leaves_neither_its_secret_nor_its_hash(merchant: Merchant) -> None:
    key, secret = keys.create(merchant, name="Shop")
    keys.roll(key)
    keys.revoke(key)

    assert secret not in whole_table()
    assert bytes(key.hash).hex() not in whole_table()
    assert ring().mac("api_key", secret.encode()) == bytes(key.hash)  # It is what was looked for.


def whole_table() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(entry::text, '|') FROM merchants_auditentry AS entry")
        return str(cursor.fetchone()[0])
