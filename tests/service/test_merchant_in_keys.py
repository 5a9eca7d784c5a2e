"""The merchant is in every table and every key, or the exception is listed (docs/adr/0023, I11)."""

from datetime import date

import pytest
from django.db import IntegrityError, connection, transaction

from core import clock
from core.querysets import MerchantRows
from ledger import accounts, book
from ledger.book import Sale
from ledger.models import Account, Checkpoint
from tests.stage import merchant_keys
from tests.stage.bank_transport import BankTransport
from tests.stage.checkouts import opened
from tests.stage.client import ApiClient
from tests.stage.complaints import Complaint, dispute_past_the_bank
from tests.stage.database_role import as_owner
from tests.stage.factories import DECLINED_CARD, EndpointFactory, line
from tests.stage.notifier import Notifier
from tests.stage.undecided import a_case_of

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

DJANGOS = "Django's own, about its operators and itself."
OWN_ID = "Unique among all merchants as it is made; a foreign key of Django's points at one column."

# By name, the reason. A database sharded by merchant would have these tables on every shard.
TABLES_WITHOUT = {
    "merchants_merchant": "It is the merchant.",
    "merchants_user": "A person may be in the teams of several merchants, or be an operator.",
    "merchants_operatorinvitation": "Operators are of the installation.",
    "merchants_user_groups": DJANGOS,
    "merchants_user_user_permissions": DJANGOS,
    "merchants_session": "A person's, who may be in the teams of several merchants.",
    "sign_in_cache": "Tries of people who sign in, before anybody knows who they are.",
    "account_emailaddress": "Of django-allauth, and always empty: an address is the user's own.",
    "account_emailconfirmation": "Of django-allauth, and always empty.",
    "mfa_authenticator": "A person's, who may be in the teams of several merchants.",
    "merchants_auditentry": "Null in the chains of people and of the installation.",
    "merchants_audittally": "Null of people and of the installation.",
    "merchants_audithead": "The chain's name has the merchant, if the chain is one's.",
    "merchants_requestlog": "Null for a request without a key that we know.",
    "acquirers_terminal": "Null for the installation's own, which serves every merchant.",
    "acquirers_route": "Null for the installation's own, which lead every merchant's payments.",
    "notices_inbox": "A terminal's, which may serve every merchant.",
    "notices_notice": "A bank may tell of what we do not know.",
    "transfers_transfernotice": "A bank may tell of what we do not know.",
    "topups_incomingtransfer": "Null until it is known whose it is.",
    "risk_listentry": "Null for the installation's own, which holds for every merchant.",
    "installments_bin": "Issuers' facts are the same for all merchants.",
    "installments_binimport": "Issuers' facts are the same for all merchants.",
    "cases_takenwork": "Of what operators do; a daily run or a terminal is of all merchants.",
    "core_clock": "The sandbox has one clock for all.",
    "core_installation": "It is where the database of all merchants lies.",
    "core_mark": "A mark is of the whole database.",
    "core_process": "A process serves all merchants.",
    "ledger_agenda": "Ids of entries are given out for all merchants together.",
    "ledger_holidaychange": "A country's holidays are the same for all merchants.",
    "daily_daydigest": "A digest is of the rows of all merchants.",
    "daily_dailyrun": "A run is about all merchants.",
    "reconciliation_difference": "Null where the bank's number stands for several merchants.",
    "reconciliation_keptline": "Null where the bank's number stands for several merchants.",
    "ledger_boundary": "Ids of entries are given out for all merchants together.",
    "auth_group": DJANGOS,
    "auth_group_permissions": DJANGOS,
    "auth_permission": DJANGOS,
    "django_admin_log": DJANGOS,
    "django_content_type": DJANGOS,
    "django_migrations": DJANGOS,
}
REFERENCES_WITHOUT: dict[str, str] = {}
UNIQUE_KEYS_WITHOUT = {
    "acquirers_bankexchange_pkey": OWN_ID,
    "cases_case_pkey": OWN_ID,
    "cases_casechange_pkey": OWN_ID,
    "cases_casenote_pkey": OWN_ID,
    "checkout_checkoutsession_pkey": OWN_ID,
    "one_open_session_per_payment": "A payment has one merchant.",
    "customers_customer_pkey": OWN_ID,
    "disputes_dispute_pkey": OWN_ID,
    "disputes_disputedelivery_pkey": OWN_ID,
    "events_event_pkey": OWN_ID,
    "intents_attempt_pkey": OWN_ID,
    "intents_latechange_pkey": OWN_ID,
    "intents_lineitem_pkey": OWN_ID,
    "intents_modification_pkey": OWN_ID,
    "intents_paymentintent_pkey": OWN_ID,
    "refunds_refund_pkey": OWN_ID,
    "payouts_payout_pkey": OWN_ID,
    "topups_topup_pkey": OWN_ID,
    "ledger_account_pkey": "The merchant is the first part of the id.",
    "ledger_checkpoint_pkey": "It is an account's, in whose id the merchant is the first part.",
    "ledger_due_pkey": OWN_ID,
    "ledger_entry_pkey": OWN_ID,
    "ledger_movement_pkey": OWN_ID,
    "ledger_price_pkey": OWN_ID,
    "ledger_run_pkey": OWN_ID,
    "statements_statement_pkey": OWN_ID,
    "merchants_apikey_pkey": OWN_ID,
    "merchants_callbackurl_pkey": OWN_ID,
    "merchants_idempotencykey_pkey": OWN_ID,
    "merchants_installmentplan_pkey": OWN_ID,
    "merchants_invitation_pkey": OWN_ID,
    "merchants_member_pkey": OWN_ID,
    "merchants_negativelimit_pkey": OWN_ID,
    "merchants_nonsecurelimit_pkey": OWN_ID,
    "merchants_payoutaccount_pkey": OWN_ID,
    "merchants_riskrule_pkey": OWN_ID,
    "merchants_website_pkey": OWN_ID,
    "vault_sealedcard_pkey": OWN_ID,
    "webhooks_delivery_pkey": OWN_ID,
    "webhooks_endpoint_pkey": OWN_ID,
    "webhooks_lane_pkey": OWN_ID,
    "webhooks_signingsecret_pkey": OWN_ID,
    "merchants_apikey_hash_key": "A key is looked up by its hash before its merchant is known.",
    "merchants_invitation_token_hash_key": "It is looked up before its merchant is known.",
    "intents_attempt_acquirer_reference_key": "The bank knows no merchants of ours.",
    "intents_modification_refund_reference_key": "The bank knows no merchants of ours.",
    "refunds_refund_acquirer_reference_key": "The bank knows no merchants of ours.",
    "payouts_payout_acquirer_reference_key": "The bank knows no merchants of ours.",
    "topups_topup_reference_key": "The bank knows no merchants of ours.",
}

LANE = "ALTER TABLE webhooks_lane ADD CONSTRAINT planted"
# A statement, and the check that must name it.
PLANTED = [
    ("CREATE TABLE planted (id text)", "tables"),
    ("ALTER TABLE webhooks_lane ALTER merchant_id DROP NOT NULL", "tables"),
    (f"{LANE} FOREIGN KEY (endpoint_id) REFERENCES webhooks_endpoint (id)", "references"),
    (f"{LANE} UNIQUE (lease_id)", "unique_keys"),
    ("CREATE UNIQUE INDEX planted ON webhooks_lane (lower(key))", "unique_keys"),
    ("CREATE UNIQUE INDEX planted ON webhooks_lane (id) INCLUDE (merchant_id)", "unique_keys"),
    ("ALTER TABLE webhooks_lane DROP CONSTRAINT a_lanes_endpoint_is_the_merchants", "columns"),
    # An exception that is none any more.
    ("ALTER TABLE merchants_apikey DROP CONSTRAINT merchants_apikey_hash_key", "unique_keys"),
]
REFERENCES = sorted(merchant_keys.model_references())


def complaints(keys: merchant_keys.Keys) -> dict[str, list[str]]:
    """Return by check the names that leave the merchant out, and listed ones that do not."""
    found = {
        "tables": unlike(keys.tables - keys.merchants_tables, TABLES_WITHOUT),
        "references": unlike(keys.loose_references(), REFERENCES_WITHOUT),
        "unique_keys": unlike(keys.loose_unique_keys(), UNIQUE_KEYS_WITHOUT),
        "columns": unlike(keys.unguarded_columns(), {}),
    }
    return {check: sentences for check, sentences in found.items() if sentences}


def unlike(found: set[str], listed: dict[str, str]) -> list[str]:
    return [f"{name}: without the merchant" for name in sorted(found - listed.keys())] + [
        f"{name}: listed, but not without it" for name in sorted(listed.keys() - found)
    ]


def test_the_merchant_is_in_every_key_but_for_the_exceptions() -> None:
    keys = merchant_keys.in_catalog()

    exceptions = len(TABLES_WITHOUT) + len(REFERENCES_WITHOUT) + len(UNIQUE_KEYS_WITHOUT)
    print(  # noqa: T201
        f"{len(keys.tables)} tables, {len(keys.merchants_tables)} of merchants' rows;"
        f" {len(keys.references)} foreign keys, {len(keys.unique_keys)} unique keys;"
        f" {exceptions} exceptions"
    )
    assert complaints(keys) == {}
    assert min(map(len, keys)) > 0


def test_the_catalog_has_every_model() -> None:
    keys, models = merchant_keys.in_catalog(), merchant_keys.models()

    tables = {model._meta.db_table for model in models}
    assert keys.tables - tables <= {"django_migrations", "sign_in_cache"}
    assert tables - keys.tables == set()


def test_every_model_with_a_merchant_is_read_by_merchant() -> None:
    ours = list(filter(merchant_keys.has_merchant, merchant_keys.models()))

    others = [row for row in ours if not isinstance(row._default_manager.all(), MerchantRows)]
    assert others == []
    assert len(ours) > 10


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize(("planted", "check"), PLANTED)
def test_a_key_that_is_planted_without_the_merchant_is_named(planted: str, check: str) -> None:
    with as_owner() as cursor:
        cursor.execute(planted)

    assert check in complaints(merchant_keys.in_catalog())


@pytest.fixture
def ours(acme: ApiClient, bank: BankTransport, notifier: Notifier) -> str:
    """A merchant with a row in every table that refers to another of the merchant's tables."""
    EndpointFactory(merchant=acme.merchant)
    customer = acme.post("/v1/customers")["id"]
    opened(acme, customer=customer)
    acme.pay(customer=customer, metadata={"a": "1"}, line_items=[line(12500)])
    authorized = acme.pay(capture_method="manual")["id"]
    acme.post(f"/v1/payment_intents/{authorized}/capture")
    acme.refund(authorized, 100)
    Complaint(acme, notifier).opened().submit()
    some = Account.objects.filter(merchant=acme.merchant).first()
    Checkpoint.objects.create(
        account=some, merchant=acme.merchant, currency=some.currency, sum=0, boundary=0
    )
    a_case_of(authorized)
    return acme.merchant.id


@pytest.fixture
def theirs(globex: ApiClient, bank: BankTransport) -> str:
    """A merchant with a row in every table that is referred to; no attempt of it took money."""
    merchant = EndpointFactory(merchant=globex.merchant).merchant
    customer = globex.post("/v1/customers")["id"]
    declined = globex.pay(DECLINED_CARD, customer=customer)
    dispute_past_the_bank(declined["id"])
    a_case_of(declined["id"])
    terms = {"cause_id": "att_1", "captured_on": date(2026, 11, 2), "now": clock.now()}
    accounts.ensure(merchant.id, "try")
    with transaction.atomic():
        book.charge(merchant.id, Sale(1, "try"), **terms)
    return merchant.id


@pytest.mark.every_case("nobody sees or changes what is another merchant's")
@pytest.mark.parametrize(("table", "column"), REFERENCES, ids=map(".".join, REFERENCES))
def test_a_row_refers_to_rows_of_its_own_merchant_only(
    table: str, column: str, ours: str, theirs: str
) -> None:
    every = merchant_keys.in_catalog().references
    [key] = [one for one in every if one.table == table and column in one.columns]
    connection.check_constraints()
    merchant_keys.point(key, owner=ours, target=ours)

    with pytest.raises(IntegrityError) as refused:
        merchant_keys.point(key, owner=ours, target=theirs)

    assert refused.value.__cause__.diag.constraint_name == key.name
