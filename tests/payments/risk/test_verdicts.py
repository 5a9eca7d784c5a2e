"""Verdicts from numbers: which rule hits, what it does, and what bank and people add."""

from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from merchants.models import RuleEffect, RuleName
from payments.risk import fingerprints, rules, verdicts
from payments.risk.rules import DEFAULTS, Setting
from payments.risk.verdicts import Counts, Facts, FraudStatus, RiskVerdict

AMOUNT_RULE = Setting("amount", "try", "review", 500_000)
ALL_ON = rules.with_settings(DEFAULTS, [AMOUNT_RULE], "try")


def judged(**facts: Any) -> RiskVerdict:
    return verdicts.judge(ALL_ON, Facts(**{"amount": 12500, **facts}), at=1)


@pytest.mark.parametrize(
    ("rule", "under", "at", "score", "level", "status"),
    [
        ("card_velocity", {"card_attempts": 9}, {"card_attempts": 10}, 85, "highest", "fraud"),
        ("card_declines", {"card_declines": 7}, {"card_declines": 8}, 90, "highest", "fraud"),
        ("email_velocity", {"email_attempts": 19}, {"email_attempts": 20}, 80, "highest", "fraud"),
        ("email_cards", {"email_cards": 4}, {"email_cards": 5}, 85, "highest", "fraud"),
    ],
)
def test_a_count_hits_from_its_threshold_on(
    rule: str, under: dict, at: dict, score: int, level: str, status: str
) -> None:
    passed, hit = judged(counts=Counts(**under)), judged(counts=Counts(**at))

    assert (passed.rule, passed.score, passed.level) == (None, 10, "normal")
    assert (hit.rule, hit.score, hit.level, hit.status) == (rule, score, level, status)
    assert hit.is_blocked
    assert not passed.is_blocked


@pytest.mark.parametrize(
    ("facts", "rule", "score", "status", "demands"),
    [
        ({"is_card_testing": True}, "card_testing", 70, "clear", True),
        ({"card_country": "DE", "billing_country": "TR"}, "country_mismatch", 65, "clear", True),
        ({"card_country": "TR", "billing_country": "TR"}, None, 10, "clear", False),
        ({"card_country": None, "billing_country": "TR"}, None, 10, "clear", False),
        ({"card_country": "DE", "billing_country": None}, None, 10, "clear", False),
        ({"amount": 500_000}, None, 10, "clear", False),
        ({"amount": 500_001}, "amount", 70, "review", False),
        ({"is_block_listed": True}, "block_list", 100, "fraud", False),
        ({"is_allow_listed": True, "amount": 500_001}, None, 10, "clear", False),
        ({"is_allow_listed": True, "is_block_listed": True}, "block_list", 100, "fraud", False),
    ],
)
def test_what_is_told_hits_or_does_not(
    facts: dict, rule: str | None, score: int, status: str, demands: bool
) -> None:
    verdict = judged(**facts)

    assert (verdict.rule, verdict.score, verdict.status) == (rule, score, status)
    assert verdict.demands_authentication is demands


def test_the_heaviest_hit_is_shown_and_every_deed_is_done() -> None:
    both = judged(amount=500_001, card_country="DE", billing_country="TR")

    assert (both.rule, both.score, both.status) == ("amount", 70, "review")
    assert both.demands_authentication


def test_many_declines_of_one_network_demand_authentication() -> None:
    passed, hit = (judged(counts=Counts(network_declines=count)) for count in (9, 10))

    assert (passed.rule, passed.demands_authentication) == (None, False)
    assert (hit.rule, hit.score, hit.level) == ("address_declines", 70, "elevated")
    assert (hit.status, hit.demands_authentication) == ("clear", True)


def test_a_merchants_setting_goes_over_the_installations() -> None:
    own = [Setting("card_velocity", "", "review", 2), Setting("amount", "usd", "block", 1)]
    changed = rules.with_settings(DEFAULTS, own, "try")
    verdict = verdicts.judge(changed, Facts(5000, Counts(card_attempts=2)), at=1)

    assert (verdict.rule, verdict.status) == ("card_velocity", "review")
    assert changed[RuleName.AMOUNT].deed == RuleEffect.OFF


def test_a_sandbox_has_the_lists_alone(settings: Any) -> None:
    sandbox = rules.of_installation("try")
    settings.LIVEMODE = True
    live = rules.of_installation("try")

    assert [name for name, rule in sandbox.items() if rule.is_on] == [RuleName.BLOCK_LIST]
    assert [name for name, rule in live.items() if not rule.is_on] == [RuleName.AMOUNT]


@pytest.mark.parametrize(
    "wanted",
    [
        {"card_velocity": "block/0"}, {"card_velocity": "block/x"}, {"card_velocity": "ban"},
        {"velocity": "block"}, {"amount": "review/5"}, {"card_velocity:try": "block"},
        {"card_velocity": "block/1/2/3"}, {"card_velocity": "block/-1"}, {"amount:try": "block/٣"},
    ],
)  # fmt: skip
def test_a_setting_that_cannot_be_read_is_refused(wanted: dict[str, str], settings: Any) -> None:
    settings.RISK_RULES = wanted

    with pytest.raises(ImproperlyConfigured, match="RISK_RULES"):
        rules.of_installation("try")


def test_the_banks_score_and_ours_are_one() -> None:
    mine = judged(card_country="DE", billing_country="TR")
    normal = verdicts.with_banks_answer(mine, "normal", 12, at=2)
    elevated = verdicts.with_banks_answer(mine, "elevated", 68, at=2)
    highest = verdicts.with_banks_answer(mine, "highest", 99, at=2)

    assert normal == mine == verdicts.with_banks_answer(mine, None, None, at=2)
    assert (elevated.score, elevated.level, elevated.rule, elevated.at) == (
        68, "elevated", "country_mismatch", 2,
    )  # fmt: skip
    assert (highest.score, highest.rule, highest.status) == (99, "block_highest_risk", "fraud")
    assert not highest.is_blocked  # By the bank: it was asked.


def test_a_persons_word_stands_until_the_bank_says_otherwise() -> None:
    cleared = verdicts.by_person(judged(amount=500_001), FraudStatus.CLEAR, at=2)

    assert (cleared.rule, cleared.status, cleared.score) == ("person", "clear", 10)
    assert verdicts.with_banks_answer(cleared, "normal", 12, at=3) == cleared
    assert verdicts.with_banks_answer(cleared, "highest", 99, at=3).status == "fraud"
    warned = verdicts.with_banks_warning(cleared, at=3)
    assert (warned.rule, warned.status, warned.level) == ("bank_warning", "fraud", "highest")


def test_the_bank_warns_once() -> None:
    warned = verdicts.with_banks_warning(judged(), at=2)
    cleared = verdicts.by_person(warned, FraudStatus.CLEAR, at=3)

    assert verdicts.with_banks_warning(warned, at=4) == warned
    assert verdicts.with_banks_warning(cleared, at=4) == cleared


@pytest.mark.parametrize(
    "written",
    [
        "AYSE.I@EXAMPLE.COM", " Ayse.i@Example.com ", "ayse.i@ｅxample.com",
    ],
)  # fmt: skip
def test_an_address_is_the_same_in_any_spelling_of_one_key(written: str) -> None:
    same = fingerprints.of_email("mer_1", "ayse.i@example.com")

    assert fingerprints.of_email("mer_1", written) == same


def test_a_network_is_another_one_at_another_merchant() -> None:
    pairs = [("mer_1", "203.0.113.7"), ("mer_1", "203.0.113.8"), ("mer_2", "203.0.113.7")]
    found = {fingerprints.of_network(*pair) for pair in pairs}

    assert len(found) == 3
    assert fingerprints.of_network("mer_1", "203.0.113.7") in found


def test_dots_tags_and_merchants_make_another_address() -> None:
    addresses = ["ayse@example.com", "a.yse@example.com", "ayse+1@example.com"]
    found = {
        fingerprints.of_email(who, one) for who in ("mer_1", "mer_2", None) for one in addresses
    }

    assert len(found) == 9
