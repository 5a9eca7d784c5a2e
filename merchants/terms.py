"""The terms of a merchant that `accounts.change` may change: a declared table.

Rooms above declare theirs in a tuple of their own, which their apps register.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from zoneinfo import available_timezones

from django.conf import settings
from django.core.exceptions import ValidationError

from core.detection import contains_card_number
from core.mail import require_address
from core.names import email_key
from core.registry import Registry
from merchants import (
    installment_plans,
    notices,
    payout_accounts,
    payout_schedules,
    risk_rules,
    sites,
)
from merchants.models import InstallmentPlan, Merchant, NegativeLimit, NonSecureLimit, RiskRule
from merchants.refusals import ChangeRefused
from merchants.states import MERCHANTS

# As the API's own amounts (contract 1).
AMOUNT_MAX = 999_999_999_999


@dataclass(frozen=True, slots=True)
class Term:
    """One changeable thing.

    :param name: its name in the changes that `accounts.change` takes.
    :param read: returns its value now: a plain value, or a list of rows as JSON has them.
    :param write: gives it another value; the merchant is locked. Refuses by `ChangeRefused`.
    :param action: the audit log's name of the change.
    :param shown_as: its name in the audit row, if not `name`.
    :param subject: returns from merchant and new value what was changed, as the audit row names
        it; by default that is the merchant.
    """

    name: str
    read: Callable[[Merchant], Any]
    write: Callable[[Merchant, Any], Any]
    action: str = "merchant.updated"
    shown_as: str | None = None
    subject: Callable[[Merchant, Any], str] = lambda merchant, _value: merchant.id


REGISTERED: Registry[Term] = Registry("term")


def register(*terms: Term) -> None:
    """Add terms; called in `AppConfig.ready()`."""
    for term in terms:
        REGISTERED.add(term.name, term)


def find(name: str) -> Term:
    """Return a term by its name.

    :raises ChangeRefused: there is none.
    """
    try:
        return REGISTERED[name]
    except KeyError:
        raise ChangeRefused(f"Nothing of a merchant that may be changed is named {name}.") from None


def column(name: str, check: Callable[[Merchant, Any], None] | None = None) -> Term:
    """Return the term that is a column of the merchant.

    :param check: refuses a value by `ChangeRefused`, beyond what the field itself refuses.
    """

    def write(merchant: Merchant, value: Any) -> None:
        try:
            clean = Merchant._meta.get_field(name).clean(value, merchant)  # type: ignore[union-attr]
        except ValidationError as problem:
            raise ChangeRefused(f"{name}: {' '.join(problem.messages)}") from problem
        if isinstance(clean, str) and contains_card_number(clean):
            raise ChangeRefused(f"{name}: there is a card number in it.")
        if check:
            check(merchant, clean)
        setattr(merchant, name, clean)
        merchant.save(update_fields=[name])

    return Term(name, lambda merchant: getattr(merchant, name), write)


# --- Columns ----------------------------------------------------------------------------------


def _require_zone(_merchant: Merchant, name: str) -> None:
    if name not in available_timezones():
        raise ChangeRefused("timezone: an IANA name, such as Europe/Istanbul.")


def _require_listed(merchant: Merchant, status: str) -> None:
    if status != merchant.status and (merchant.status, status) not in MERCHANTS.pairs:
        raise ChangeRefused(
            f"status: an account that is {merchant.status} does not become {status}."
        )


def _require_category(_merchant: Merchant, code: str) -> None:
    if code and not (len(code) == 4 and code.isascii() and code.isdecimal()):
        raise ChangeRefused("mcc: four digits.")


def _require_addresses(_merchant: Merchant, addresses: Any) -> None:
    if not _is_list_of_texts(addresses) or len(addresses) > notices.ADDRESSES_MAX:
        raise ChangeRefused("Notices go to up to 10 addresses.")
    for address in addresses:
        try:
            require_address(address)
        except ValidationError as problem:
            raise ChangeRefused("This is not an e-mail address.") from problem
        if contains_card_number(address):
            raise ChangeRefused("This is not an e-mail address.")
    if len({email_key(address) for address in addresses}) != len(addresses):
        raise ChangeRefused("An address is named twice.")


def _require_kinds(_merchant: Merchant, kinds: Any) -> None:
    if not _is_list_of_texts(kinds) or not {*kinds} <= {*notices.MailKind}:
        raise ChangeRefused(f"A kind of notice is one of: {', '.join(notices.MailKind)}.")


def _require_language(_merchant: Merchant, code: str) -> None:
    if code and code not in dict(settings.LANGUAGES):
        raise ChangeRefused(f"notice_language: one of {', '.join(dict(settings.LANGUAGES))}.")


def _is_list_of_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


COLUMNS = (
    *map(column, ("name", "legal_name", "email", "charges_enabled", "payouts_enabled")),
    column("status", _require_listed),
    column("non_secure_allowed"),
    column("second_factor_required"),
    column("notice_emails", _require_addresses),
    column("silenced_notices", _require_kinds),
    column("notice_language", _require_language),
    column("timezone", _require_zone),
    column("mcc", _require_category),
)


# --- Limits -----------------------------------------------------------------------------------


def _non_secure_limits(merchant: Merchant) -> list[dict[str, Any]]:
    rows = merchant.non_secure_limits.order_by("currency")
    return [dict(row) for row in rows.values("currency", "per_payment", "per_day")]


def _limit_non_secure(merchant: Merchant, limits: Mapping[str, Mapping[str, Any] | None]) -> None:
    """Set the limits of the named currencies; None takes a currency's row away."""
    for currency, limit in limits.items():
        rows = merchant.non_secure_limits.filter(currency=_currency(currency))
        if limit is None:
            rows.delete()
            continue
        amounts = {name: _amount(limit.get(name)) for name in ("per_payment", "per_day")}
        # The merchant is locked: no other change makes the row meanwhile.
        if not rows.update(**amounts):
            NonSecureLimit.objects.create(merchant=merchant, currency=currency, **amounts)


def _negative_limits(merchant: Merchant) -> list[dict[str, Any]]:
    rows = merchant.negative_limits.order_by("currency")
    return [dict(row) for row in rows.values("currency", "amount")]


def _limit_negative(merchant: Merchant, limits: Mapping[str, int | None]) -> None:
    """Set how far the balances of the named currencies may go below zero; None is not at all."""
    for currency, amount in limits.items():
        rows = merchant.negative_limits.filter(currency=_currency(currency))
        most = _amount(amount)
        if most is None:
            rows.delete()
        elif not rows.update(amount=most):
            NegativeLimit.objects.create(merchant=merchant, currency=currency, amount=most)


def _currency(code: str) -> str:
    if code not in settings.CURRENCIES:
        raise ChangeRefused(f"A currency is one of: {', '.join(settings.CURRENCIES)}.")
    return code


def _amount(amount: Any) -> int | None:
    if amount is None:
        return None
    if type(amount) is not int or not 0 <= amount <= AMOUNT_MAX:
        raise ChangeRefused(f"A limit is a number of minor units from 0 to {AMOUNT_MAX}.")
    return amount


LIMITS = (
    Term("non_secure_limits", _non_secure_limits, _limit_non_secure, "limit.changed"),
    Term("negative_limits", _negative_limits, _limit_negative, "limit.changed"),
)


# --- Addresses --------------------------------------------------------------------------------


def _websites(merchant: Merchant) -> list[str]:
    return [str(site) for site in merchant.websites.order_by("id")]


def _callbacks(merchant: Merchant) -> list[str]:
    return [str(site) for site in merchant.callback_urls.order_by("id")]


def _host(_merchant: Merchant, address: str) -> str:
    return sites.website_host(address)


def _address(_merchant: Merchant, address: str) -> str:
    return address


ADDRESSES = (
    Term("add_website", _websites, sites.add_website, "website.added", "websites", _host),
    Term("remove_website", _websites, sites.remove_website, "website.removed", "websites", _host),
    Term("add_callback", _callbacks, sites.add_callback, "callback.added", "callbacks", _address),
    Term(
        "remove_callback",
        _callbacks,
        sites.remove_callback,
        "callback.removed",
        "callbacks",
        _address,
    ),
)

# --- Rows that are replaced together --------------------------------------------------------------


def _replace_plans(merchant: Merchant, rows: Iterable[Mapping[str, Any]]) -> None:
    with refused("installments"):
        installment_plans.replace(merchant, [InstallmentPlan(**row) for row in rows])


def _replace_rules(merchant: Merchant, rows: Iterable[Mapping[str, Any]]) -> None:
    with refused("risk_rules"):
        risk_rules.replace(merchant, [RiskRule(**row) for row in rows])


def _change_schedule(merchant: Merchant, values: Mapping[str, Any]) -> None:
    with refused("payout_schedule", "the names of a schedule with their values"):
        payout_schedules.change(merchant, values)


@contextmanager
def refused(
    name: str, wanted: str = "a list of rows with the names that `show` tells"
) -> Iterator[None]:
    """Refuse rows that the model refuses, or that have other names than it."""
    try:
        yield
    except (TypeError, ValueError) as problem:
        raise ChangeRefused(f"{name}: {wanted}.") from problem
    except ValidationError as problem:
        raise ChangeRefused(f"{name}: {' '.join(problem.messages)}") from problem


ROWS = (
    Term("installments", installment_plans.shown, _replace_plans, "plan.changed"),
    Term("risk_rules", risk_rules.shown, _replace_rules, "risk_rule.changed"),
)
# Fields that a change does not name stay as they are.
SCHEDULE = Term("payout_schedule", payout_schedules.shown, _change_schedule)

# --- Accounts for payouts ---------------------------------------------------------------------


def _reference(_merchant: Merchant, account: Any) -> str:
    return str(account["reference"] if isinstance(account, Mapping) else account)


PAYOUT_ACCOUNTS = tuple(
    Term(
        f"{verb}_payout_account",
        payout_accounts.shown,
        write,
        f"payout_account.{action}",
        "payout_accounts",
        _reference,
    )
    for verb, action, write in (
        ("add", "added", payout_accounts.add),
        ("remove", "removed", payout_accounts.remove),
        ("default", "made_default", payout_accounts.make_default),
    )
)

TERMS = (*COLUMNS, *LIMITS, *ADDRESSES, *ROWS, SCHEDULE, *PAYOUT_ACCOUNTS)
