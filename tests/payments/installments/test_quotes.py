"""`GET /v1/installments`: what a card may be charged in, before it is charged."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError

from merchants.models import InstallmentPlan, RequestLog
from payments.installments import plans, sandbox_plans
from tests.stage.bin_table import import_bins, line
from tests.stage.client import Answer, ApiClient
from tests.stage.plans import agree, plan

pytestmark = pytest.mark.django_db(databases=["default", "bank"])

PATH = "/v1/installments"
PARAF, FOREIGN, DEBIT = "552879", "424242", "476662"


def quoted(client: ApiClient, bin: str = PARAF, amount: int = 10_000, currency: str = "try") -> Any:  # noqa: A002
    return client.get(f"{PATH}?bin={bin}&amount={amount}&currency={currency}")


def counts(answer: Answer) -> list[int]:
    return [option["installments"] for option in answer["options"]]


def test_a_quote_names_every_way_to_pay(acme: ApiClient) -> None:
    sandbox_plans.give(acme.merchant)

    answer = quoted(acme, "55287900", 10_001)

    assert answer.body == {
        "object": "installment_quote",
        "bin": "55287900",
        "amount": 10_001,
        "currency": "try",
        "card": {
            "brand": "mastercard",
            "card_type": "credit",
            "domestic": True,
            "commercial": False,
            "issuer": "Test Bank C",
            "program": "paraf",
        },
        "three_d_secure_required": False,
        "options": [
            option(1, 10_001, 0, 0, 10_001, 10_001),
            option(2, 10_001, 0, 0, 5_000, 5_001),
            option(3, 10_276, 275, 275, 3_425, 3_426),
            option(6, 10_550, 549, 549, 1_758, 1_760),
        ],
        "livemode": False,
    }


def option(count: int, whole: int, surcharge: int, bps: int, part: int, first: int) -> dict:
    return {
        "installments": count,
        "amount_charged": whole,
        "surcharge": surcharge,
        "surcharge_rate_bps": bps,
        "installment_amount": part,
        "first_installment_amount": first,
    }


@pytest.mark.every_case("amounts and their rounding")
@pytest.mark.parametrize(
    ("amount", "bps", "surcharge"),
    [
        (100, 50, 1), (99, 50, 0), (100, 49, 0), (300, 50, 2), (1, 5000, 1),
        (10**12 - 1, 5000, 5 * 10**11),
    ],
)  # fmt: skip
def test_a_surcharge_is_rounded_half_up(
    amount: int, bps: int, surcharge: int, acme: ApiClient
) -> None:
    agree(acme.merchant, plan(2, bps))

    assert [o["surcharge"] for o in quoted(acme, amount=amount)["options"]] in (
        [0, surcharge], [0],
    )  # fmt: skip
    assert counts(quoted(acme, amount=amount)) == ([1, 2] if amount + surcharge > 1 else [1])


def test_planted_rounding_half_down_is_found(
    acme: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def half_down(option: plans.Option) -> int:
        return (option.amount * option.surcharge_rate_bps + plans.BASE // 2 - 1) // plans.BASE

    monkeypatch.setattr(plans.Option, "surcharge", property(half_down))

    with pytest.raises(AssertionError):
        test_a_surcharge_is_rounded_half_up(100, 50, 1, acme)


@pytest.mark.parametrize(
    ("bin", "currency"),
    [(FOREIGN, "try"), (DEBIT, "try"), ("510510", "try"), (PARAF, "usd")],
    ids=["foreign", "debit", "unknown", "in usd"],
)
def test_other_cards_and_currencies_pay_at_once(bin: str, currency: str, acme: ApiClient) -> None:  # noqa: A002
    agree(acme.merchant, plan(2))

    assert counts(quoted(acme, bin, currency=currency)) == [1]


def test_a_prepaid_card_pays_at_once(acme: ApiClient) -> None:
    agree(acme.merchant, plan(2))
    import_bins(line("454300", card_type="prepaid"))

    assert counts(quoted(acme, "454300")) == [1]


def test_a_programme_with_a_row_of_its_own_has_only_those(acme: ApiClient) -> None:
    agree(acme.merchant, plan(2), plan(3), plan(6, program="paraf"), plan(9, program="bonus"))

    assert counts(quoted(acme)) == [1, 6]
    assert counts(quoted(acme, "552608")) == [1, 2, 3]  # Axess has no row.
    import_bins(line("454300", program=""))
    assert counts(quoted(acme, "454300")) == [1, 2, 3]


def test_a_plan_has_a_least_amount(acme: ApiClient) -> None:
    agree(acme.merchant, plan(2, minimum=10_001))

    assert counts(quoted(acme, amount=10_000)) == [1]
    assert counts(quoted(acme, amount=10_001)) == [1, 2]


@pytest.mark.parametrize(("amount", "found"), [(11, [1]), (12, [1, 12])])
def test_no_part_is_less_than_one_minor_unit(
    amount: int, found: list[int], acme: ApiClient
) -> None:
    agree(acme.merchant, plan(12))

    assert counts(quoted(acme, amount=amount)) == found


def test_a_debit_card_and_the_issuers_demand_need_authentication(acme: ApiClient) -> None:
    import_bins(line(FOREIGN, country="US", three_d_secure_required="true"))

    assert quoted(acme, DEBIT)["three_d_secure_required"]
    assert quoted(acme, FOREIGN)["three_d_secure_required"]


def test_another_merchants_plans_are_not_quoted(acme: ApiClient, globex: ApiClient) -> None:
    agree(globex.merchant, plan(2))

    assert counts(quoted(acme)) == [1]


@pytest.mark.parametrize(
    ("query", "code", "param"),
    [
        ("amount=1&currency=try", "parameter_missing", "bin"),
        ("bin=&amount=1&currency=try", "parameter_missing", "bin"),
        ("bin=552879&currency=try", "parameter_missing", "amount"),
        ("bin=552879&amount=1", "parameter_missing", "currency"),
        ("bin=55287&amount=1&currency=try", "parameter_invalid", "bin"),
        ("bin=552879000&amount=1&currency=try", "parameter_invalid", "bin"),
        ("bin=55287a&amount=1&currency=try", "parameter_invalid", "bin"),
        ("bin=%EF%BC%95%EF%BC%95%EF%BC%92%EF%BC%98%EF%BC%97%EF%BC%99&amount=1&currency=try",
         "parameter_invalid", "bin"),
        ("bin=552879&bin=552879&amount=1&currency=try", "parameter_invalid", "bin"),
        ("bin=552879&amount=1&amount=2&currency=try", "parameter_invalid", "amount"),
        ("bin=552879&amount=1&currency=try&currency=try", "parameter_invalid", "currency"),
        ("bin=552879&amount=-1&currency=try", "amount_too_small", "amount"),
        ("bin=552879&amount=%2B1&currency=try", "parameter_invalid", "amount"),
        ("bin=552879&amount=9223372036854775808&currency=try", "amount_too_large", "amount"),
        ("bin=%20552879&amount=1&currency=try", "parameter_invalid", "bin"),
        ("bin=552879%00&amount=1&currency=try", "parameter_invalid", "bin"),
        ("bin=552879%FF&amount=1&currency=try", "parameter_invalid", "bin"),
        ("bin[]=552879&amount=1&currency=try", "parameter_invalid", "bin[]"),
        ("bin=552879&amount=1.0&currency=try", "parameter_invalid", "amount"),
        ("bin=552879&amount=0&currency=try", "amount_too_small", "amount"),
        ("bin=552879&amount=1000000000000&currency=try", "amount_too_large", "amount"),
        ("bin=552879&amount=1&currency=xyz", "currency_not_supported", "currency"),
        ("bin=552879&amount=1&currency=try&card=1", "parameter_invalid", "card"),
        ("bin=552879&amount=1&currency=try&limit=1", "parameter_invalid", "limit"),
        ("bin=552879&amount=1&currency=try&expand[]=card", "parameter_invalid", "expand[]"),
        ("bin=5528790000000008&amount=1&currency=try", "card_data_in_url", None),
    ],
)  # fmt: skip
def test_a_bad_query_is_refused(query: str, code: str, param: str | None, acme: ApiClient) -> None:
    assert acme.get(f"{PATH}?{query}").refusal == (400, code, param)


def test_a_whole_card_number_is_in_no_log(acme: ApiClient) -> None:
    acme.get(f"{PATH}?bin=5528790000000008&amount=1&currency=try")

    logged = str(list(RequestLog.objects.values()))
    assert "5528790000000008" not in logged


def test_currencies_may_be_written_in_capitals(acme: ApiClient) -> None:
    assert quoted(acme, currency="TRY")["currency"] == "try"


@pytest.mark.parametrize(("level", "status"), [("none", 403), ("read", 200)])
def test_a_quote_needs_the_scope_of_payments(level: str, status: int, acme: ApiClient) -> None:
    assert quoted(acme.with_scopes(payment_intents=level)).status == status


def test_a_quote_is_only_read(acme: ApiClient) -> None:
    assert acme.post(PATH).refusal == (405, "method_not_allowed", None)


# --- The merchant's rows ----------------------------------------------------------------------


def test_the_account_shows_its_plans(acme: ApiClient) -> None:
    agree(
        acme.merchant, plan(6, 549, program="bonus"), plan(3, program="axess"), plan(2, minimum=5)
    )

    assert acme.get("/v1/merchant")["installments"] == [
        row(None, 2, 0, 5), row("axess", 3, 0, 0), row("bonus", 6, 549, 0),
    ]  # fmt: skip


def row(program: str | None, count: int, bps: int, minimum: int) -> dict[str, Any]:
    return {
        "program": program,
        "installments": count,
        "surcharge_rate_bps": bps,
        "minimum_amount": minimum,
    }


@pytest.mark.parametrize(
    "wrong",
    [plan(1), plan(13), plan(2, -1), plan(2, 5001), plan(2, minimum=-1), plan(2, program="Bonus")],
    ids=str,
)
def test_a_plan_out_of_bounds_is_refused(wrong: InstallmentPlan, acme: ApiClient) -> None:
    with pytest.raises(ValidationError):
        agree(acme.merchant, wrong)


@pytest.mark.parametrize("program", [None, "bonus"])
def test_a_programme_has_a_count_once(program: str | None, acme: ApiClient) -> None:
    with pytest.raises(ValidationError, match="one_plan_per_program_and_installments|already"):
        agree(acme.merchant, plan(2, program=program), plan(2, 5, program=program))
