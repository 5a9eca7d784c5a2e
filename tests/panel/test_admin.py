"""The operators' admin: everything opens, money and merchants are read-only."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from merchants.models import AuditEntry, Merchant, User
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.factories import payment
from tests.stage.hooks import created
from tests.stage.teams import let_in
from webhooks.models import Delivery, Endpoint, Lane, SigningSecret

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

OURS = [model for model in apps.get_models() if model in admin.site._registry]


@pytest.fixture
def operator(client: Client) -> Client:
    root = User.objects.create_superuser("Operator@Example.com", "a long enough password")
    signed_in = client.login(email="operator@EXAMPLE.com", password="a long enough password")
    assert signed_in
    return let_in(client, root)


def address(model: type, page: str, *arguments: object) -> str:
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{page}", args=arguments)


def test_every_list_and_every_row_opens(
    operator: Client, acme: ApiClient, bank: BankTransport
) -> None:
    item = {"name": "Tea", "unit_amount": 12500}
    acme.post("/v1/payment_intents", payment(line_items=[item]), idempotency_key="k")
    secret = created(acme)["secret"]
    acme.post("/v1/customers", {"name": "Ada"})
    opened = 0

    for model in OURS:
        assert operator.get(address(model, "changelist")).status_code == 200, model
        for row in model.objects.all():
            page = operator.get(address(model, "change", row.pk))
            assert page.status_code == 200, row
            assert acme.key not in page.content.decode()
            assert secret not in page.content.decode()
            opened += 1

    assert {Endpoint, Delivery, Lane} < {*OURS}
    assert SigningSecret not in OURS
    assert len(OURS) > 8, OURS
    assert opened > 8, opened


@pytest.mark.every_case("each page and model has its own right")
@pytest.mark.parametrize("model", OURS)
def test_nothing_is_edited_by_hand(operator: Client, model: type) -> None:
    assert operator.get(address(model, "add")).status_code == 403


def test_a_merchant_is_not_changed_by_hand(operator: Client, acme: ApiClient) -> None:
    changed = operator.post(address(Merchant, "change", acme.merchant.pk), {"country": "xx"})

    assert changed.status_code == 403
    assert Merchant.objects.get().country == "TR"


def test_nobody_is_made_changed_or_deleted_by_hand(operator: Client, acme: ApiClient) -> None:
    owner = acme.merchant.members.get().user
    group = Group.objects.get(name="people")
    password = {"password1": "another long one", "password2": "another long one"}
    mine = {"email": "mine@example.com", "is_superuser": "on", "is_staff": "on"}
    before = rows_of_people()

    for page, form in (
        (address(User, "add"), {**mine, **password}),
        (address(User, "change", owner.pk), mine),
        (address(User, "delete", owner.pk), {"post": "yes"}),
        (address(Group, "change", group.pk), {"name": "people", "permissions": ["1"]}),
        (address(Group, "delete", group.pk), {"post": "yes"}),
    ):
        assert operator.post(page, form).status_code == 403, page
    set_password = operator.post(f"/admin/merchants/user/{owner.pk}/password/", password)
    chosen = {"action": "delete_selected", "_selected_action": [owner.pk], "post": "yes"}
    operator.post(address(User, "changelist"), chosen)

    assert set_password.status_code in (302, 404)
    assert rows_of_people() == before


def rows_of_people() -> tuple[list[dict[str, Any]], list[Any]]:
    groups = Group.objects.order_by("pk").values_list("pk", "permissions")
    return list(User.objects.order_by("pk").values()), sorted(groups)


def test_a_persons_row_shows_no_password(operator: Client) -> None:
    root = User.objects.get()

    page = operator.get(address(User, "change", root.pk)).content.decode()

    assert root.email in page
    assert root.password not in page
    assert "field-password" not in page


def test_no_list_is_asked_about_a_column_that_it_does_not_show(operator: Client) -> None:
    asked = [f"{address(User, 'changelist')}?password__lt=argon2"]
    asked += [
        f"{address(model, 'changelist')}?{column}__{lookup}"
        for model in OURS
        for column in hidden_columns(model)
        for lookup in ("gte=x", "isnull=0")
    ]

    operator.raise_request_exception = False

    statuses = {query: operator.get(query).status_code for query in asked}

    assert {query: status for query, status in statuses.items() if status != 400} == {}
    assert len({query.split("?")[0] for query in asked}) > 8, asked


def test_a_list_is_asked_about_what_its_rows_belong_to(operator: Client) -> None:
    asked = [
        f"{address(model, 'changelist')}?{name}__isnull=0"
        for model in OURS
        for column in model._meta.concrete_fields
        if column.is_relation and column.name in admin.site._registry[model].list_display
        for name in (column.name, column.attname)
    ]

    statuses = {query: operator.get(query).status_code for query in asked}

    assert {query: status for query, status in statuses.items() if status != 200} == {}
    assert len(asked) > 8, asked


def hidden_columns(model: Any) -> set[str]:
    """Return the columns that a row's page does not show, nor its list, nor a filter of it."""
    page = admin.site._registry[model]
    columns = [field for field in model._meta.concrete_fields if not field.primary_key]
    editable = {field.name for field in columns if field.editable} - {*(page.exclude or ())}
    filters = {item[0] if isinstance(item, tuple) else item for item in page.list_filter}
    shown = {*(page.fields or editable), *page.list_display, *filters, page.date_hierarchy}
    return {field.name for field in columns} - shown


def test_no_search_looks_into_a_column_that_is_not_shown() -> None:
    for model in OURS:
        sought = {re.split("^=|__", name)[0] for name in admin.site._registry[model].search_fields}
        assert sought.isdisjoint(hidden_columns(model)), model


def test_the_database_refuses_a_users_capitals() -> None:
    with pytest.raises(IntegrityError, match="a_users_email_is_its_key"):
        User.objects.create(email="Bob@x.com")


def test_the_audit_log_is_found_by_action_object_and_actor(
    operator: Client, acme: ApiClient
) -> None:
    hook = created(acme)["id"]
    page = address(AuditEntry, "changelist")

    def found(query: str) -> int:
        answer = operator.get(f"{page}?{query}")
        assert answer.status_code == 200, query
        return len(answer.context["cl"].result_list)

    assert found("") == AuditEntry.objects.count() > found("action=endpoint.created") == 1
    assert found("action=key.revoked") == 0
    assert found(f"q={hook}") == found("actor__exact=api_key") == 1
    assert found(f"q={acme.merchant.id}") == AuditEntry.objects.count()


@pytest.mark.every_case("who may do what")
@pytest.mark.parametrize("page", ["add", "change", "delete"])
def test_nobody_changes_the_audit_log(operator: Client, acme: ApiClient, page: str) -> None:
    row = AuditEntry.objects.latest("id")
    arguments = () if page == "add" else (row.pk,)

    changed = operator.post(address(AuditEntry, page, *arguments), {"reason": "another"})

    assert changed.status_code == 403
    row.refresh_from_db()
    assert row.reason is None
