"""Routes: which terminal a payment goes to, and what is refused before anything is stored."""

from itertools import product
from typing import Any

import pytest

from acquirers import routes, routing, terminals
from acquirers.models import Route, Terminal
from acquirers.routing import Payment, overlap
from acquirers.set_up import SetUpRefused
from merchants.models import AuditEntry
from payments.installments import sandbox_plans
from payments.intents.models import Attempt
from tests.stage.bank_transport import BankTransport
from tests.stage.client import ApiClient
from tests.stage.oldbank.process import OldBank
from tests.stage.oldbank.way import old_bank_behind
from vault.models import SealedCard

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

BONUS, FOREIGN = "4603450000000000", "4242424242424242"  # One in a programme, one of abroad.
CONDITIONS: dict[str, tuple[Any, ...]] = {
    "currency": (None, "try", "usd"),
    "brand": (None, "visa", "troy"),
    "domestic": (None, True, False),
    "program": (None, "bonus"),
    "installments_from": (1, 2, 4),
    "installments_to": (None, 2, 4),
}
RULES = [
    dict(zip(CONDITIONS, values, strict=True))
    for values in product(*CONDITIONS.values())
    if values[-1] is None or values[-2] <= values[-1]
]
PAYMENTS = [
    Payment(currency, {"brand": brand, "domestic": domestic, "program": program}, count)
    for currency, brand, domestic, program, count in product(
        ("try", "usd", "eur"),
        ("visa", "troy", "amex"),
        (True, False),
        (None, "bonus"),
        (1, 2, 3, 4, 6),
    )
]


def sandbox() -> Terminal:
    return Terminal.objects.get(name="sandbox")


def no_routes() -> None:
    Route.objects.all().delete()


def only(**conditions: Any) -> None:
    """Let the sandbox's terminal take what fits, and nothing else."""
    no_routes()
    routes.add(sandbox(), **conditions)


def shared(one: dict[str, Any], other: dict[str, Any]) -> bool:
    rows = [{"terminal": {"currencies": [], "brands": []}, **rule} for rule in (one, other)]
    return any(all(routing._fits(row, paid) for row in rows) for paid in PAYMENTS)


def test_two_routes_overlap_exactly_if_a_payment_fits_both() -> None:
    rules = RULES[::7]
    pairs = list(product(rules, repeat=2))
    wrong = [pair for pair in pairs if overlap(Route(**pair[0]), Route(**pair[1])) != shared(*pair)]
    print(f"{len(pairs)} pairs of rules by {len(PAYMENTS)} payments")  # noqa: T201

    assert wrong == []
    assert len(pairs) > 1000


@pytest.mark.parametrize(
    ("conditions", "takes", "refuses"),
    [
        ({"currency": "try"}, {}, {"currency": "usd"}),
        ({"brand": "visa"}, {}, {"brand": "troy"}),
        ({"domestic": True}, {}, {"domestic": False}),
        ({"program": "bonus"}, {}, {"program": None}),
        ({"installments_from": 2, "installments_to": 3}, {"installments": 3}, {"installments": 4}),
        ({"installments_from": 2}, {"installments": 12}, {"installments": 1}),
    ],
    ids=lambda given: next(iter(given), "") if isinstance(given, dict) else "",
)
def test_a_condition_that_does_not_fit_leads_nowhere(
    conditions: dict[str, Any], takes: dict[str, Any], refuses: dict[str, Any], acme: ApiClient
) -> None:
    only(**conditions)
    given = {"brand": "visa", "domestic": True, "program": "bonus", "currency": "try"}

    def terminal(**changes: Any) -> Terminal | None:
        facts = {**given, "installments": 1, **changes}
        card = {name: facts[name] for name in ("brand", "domestic", "program")}
        paid = Payment(facts["currency"], card, facts["installments"])
        return routing.routes_of(acme.merchant).terminal_for(paid)

    assert terminal(**takes) == sandbox()
    assert terminal(**refuses) is None


def test_limits_of_the_contract_count_like_conditions(acme: ApiClient, bank: BankTransport) -> None:
    terminals.replace(sandbox(), {}, currencies=["try"], brands=["visa"])

    assert acme.pay()["status"] == "succeeded"
    assert acme.pay("5555555555554444").refusal[:2] == (400, "card_not_supported")
    assert acme.pay(currency="usd").refusal[:2] == (503, "upstream_unavailable")


@pytest.mark.parametrize(
    ("conditions", "sent", "refusal"),
    [
        ({"currency": "usd"}, {}, (503, "upstream_unavailable")),
        ({"brand": "troy"}, {}, (400, "card_not_supported")),
        ({"domestic": True}, {}, (400, "card_not_supported")),
        ({"installments_to": 2}, {"installments": 3}, (400, "installments_not_available")),
    ],
    ids=["currency", "brand", "foreign", "count"],
)
def test_what_no_route_takes_is_refused_before_anything_is_stored(
    conditions: dict[str, Any],
    sent: dict[str, Any],
    refusal: tuple[int, str],
    acme: ApiClient,
    bank: BankTransport,
) -> None:
    sandbox_plans.give(acme.merchant)
    only(**conditions)

    refused = acme.pay(BONUS if sent else FOREIGN, **sent)

    assert refused.refusal[:2] == refusal
    assert not SealedCard.objects.exists()
    assert (Attempt.objects.count(), bank.seen) == (0, [])


def test_a_quote_offers_what_a_route_takes(acme: ApiClient, bank: BankTransport) -> None:
    sandbox_plans.give(acme.merchant)
    query = f"/v1/installments?bin={BONUS[:6]}&amount=100000&currency=try"
    all_of_them = [one["installments"] for one in acme.get(query)["options"]]
    only(installments_to=3)

    offered = [one["installments"] for one in acme.get(query)["options"]]

    assert offered == [count for count in all_of_them if count <= 3]
    assert len(offered) < len(all_of_them)


def test_two_kinds_of_banks_side_by_side(acme: ApiClient, old_bank: OldBank) -> None:
    """Programme and installments go to the one, all else to the other, and stay there."""
    sandbox_plans.give(acme.merchant)
    with old_bank_behind(old_bank):
        terminal = Terminal.objects.get(kind="oldbank")
        terminal.routes.all().delete()
        held = acme.pay(BONUS, capture_method="manual")
        routes.add(terminal, program="bonus", installments_from=2, priority=1)
        split = acme.pay(BONUS, amount=90000, installments=3)
        single = acme.pay(FOREIGN)
        captured = acme.post(f"/v1/payment_intents/{held['id']}/capture")
        backs = [acme.refund(one["id"], 100)["status"] for one in (split, single, captured)]
        at_the_old_bank = [line.amount for line in old_bank.book()]

    assert [one["status"] for one in (split, single, captured)] == ["succeeded"] * 3
    assert backs == ["succeeded"] * 3
    named = dict(Attempt.objects.values_list("intent_id", "terminal__kind"))
    kinds = [named[one["id"]] for one in (split, single, captured)]
    assert kinds == ["oldbank", "sandbox", "sandbox"]
    assert at_the_old_bank == [split["amount_charged"], 100]


# --- Added and removed ------------------------------------------------------------------------


def test_routes_that_fit_alike_need_different_priorities() -> None:
    no_routes()
    routes.add(sandbox(), currency="try", priority=5)

    with pytest.raises(SetUpRefused, match=r"sandbox's \(try at 5\) alike"):
        routes.add(sandbox(), brand="visa", priority=5)
    routes.add(sandbox(), brand="visa", priority=6)
    routes.add(sandbox(), currency="usd", priority=5)


def test_a_merchants_own_route_comes_before_everybodys(
    acme: ApiClient, globex: ApiClient, bank: BankTransport
) -> None:
    own = terminals.add("own", kind="sandbox")
    routes.add(own, merchant=acme.merchant, priority=30000)

    acme.pay()
    globex.pay()

    named = dict(Attempt.objects.values_list("merchant_id", "terminal__name"))
    assert named == {acme.merchant.id: "own", globex.merchant.id: "sandbox"}


@pytest.mark.parametrize("status", ["draining", "disabled"])
def test_no_route_leads_to_a_terminal_that_takes_nothing_new(status: str) -> None:
    terminals.move(sandbox(), status)

    with pytest.raises(SetUpRefused, match=status):
        routes.add(sandbox(), priority=1)


def test_no_route_leads_to_another_merchants_contract(acme: ApiClient, globex: ApiClient) -> None:
    own = terminals.add("own", kind="sandbox", merchant=acme.merchant)

    for merchant in (None, globex.merchant):
        with pytest.raises(SetUpRefused, match="another merchant"):
            routes.add(own, merchant=merchant)


@pytest.mark.parametrize(
    "conditions",
    [
        {"currency": "xxx"},
        {"brand": "vista"},
        {"priority": -1},
        {"priority": 40_000},
        {"installments_from": 0},
        {"installments_from": 3, "installments_to": 2},
    ],
    ids=lambda given: next(iter(given)),
)
def test_a_condition_that_nothing_can_fit_is_refused(conditions: dict[str, Any]) -> None:
    with pytest.raises(SetUpRefused):
        routes.add(sandbox(), **{"priority": 1, **conditions})


def test_a_change_of_routes_is_in_the_audit_log() -> None:
    added = routes.add(sandbox(), currency="usd", priority=1)
    routes.remove(added)

    entries = AuditEntry.objects.filter(action__startswith="route.").order_by("sequence")
    assert [one.action for one in entries] == ["route.added", "route.removed"]
    assert [one.after or one.before for one in entries] == [{"route": "usd at 1"}] * 2
