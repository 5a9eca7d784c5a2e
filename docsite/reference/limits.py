"""The page of all limits: each is read from the code that keeps it."""

import re
from datetime import timedelta

from django.conf import settings

from api.idempotency import claims, kept
from core import context, metadata, urls
from core.money import MAX_REQUESTED_MINOR
from core.rest import brackets, expansion, fields, list_query, lists, parsers
from docsite.reference import markdown
from docsite.reference.settings import default
from merchants import sites
from payments.customers.forms import LOCALES_MAX
from payments.disputes import evidence
from payments.intents import deadlines, filters, forms
from payments.refunds import steps
from payouts.forms import STATEMENT_MAX
from vault import cvc
from webhooks import dispatch
from webhooks.delivery import outcomes
from webhooks.delivery.http import excerpts, wires
from webhooks.forms import WEEK_SECONDS

TOP = """\
# Limits

A limit with a setting's name in its row is the default: the operator of an installation may set
another one. Limits of single parameters are in the tables of [the objects](objects/index.md).
"""
UNITS = {86_400: "day", 3600: "h", 60: "min"}
Row = tuple[str, str, str]


def page() -> str:
    """Return the page."""
    names = ("limit", "value", "beyond it")
    parts = [f"## {title}\n\n{markdown.table(names, rows)}" for title, rows in _groups().items()]
    return "\n".join([TOP, *parts])


def duration(seconds: float | timedelta) -> str:
    """Return a duration in its largest whole unit: `7 days`, `45 s`."""
    number = int(seconds.total_seconds() if isinstance(seconds, timedelta) else seconds)
    for unit_seconds, unit in UNITS.items():
        if number >= 2 * unit_seconds and number % unit_seconds == 0 or number == unit_seconds:
            count = number // unit_seconds
            return f"{count} {unit}{'s' * (unit == 'day' and count > 1)}"
    return f"{number} s"


def _size(number: int) -> str:
    return f"{number // 1024} KiB"


def _of_server(name: str) -> int:
    """Return a limit of the web server, which reads its own file of settings."""
    text = (settings.BASE_DIR / "config" / "gunicorn.py").read_text()
    [value] = re.findall(rf"^{name} = (\d+)$", text, re.MULTILINE)
    return int(value)


def _code(name: str) -> str:
    return f"[`{name}`](../errors.md#{name})"


def _setting(name: str) -> str:
    return f"`{name}`"


def _groups() -> dict[str, list[Row]]:
    return {
        "Requests": _requests(),
        "Parameters": _parameters(),
        "Lists": _lists(),
        "Payments": _payments(),
        "Webhooks": _webhooks(),
        "How long it is kept": _kept(),
    }


def _requests() -> list[Row]:
    rate, failed = default("RATE_LIMIT_PER_SECOND"), default("FAILED_AUTHENTICATIONS_PER_MINUTE")
    invalid = _code("parameter_invalid")
    return [
        (
            "requests of an account",
            f"{rate} a second in live, 25 in a sandbox, none under `./dev up` "
            f"({_setting('RATE_LIMIT_PER_SECOND')})",
            _code("rate_limit"),
        ),
        (
            "failed authentications of an address",
            f"{failed} a minute ({_setting('FAILED_AUTHENTICATIONS_PER_MINUTE')})",
            _code("rate_limit"),
        ),
        (
            "failed tries on payment pages, of an IPv4 address",
            f"{default('CHECKOUT_FAILURES_PER_MINUTE')} a minute, a quarter of it of a /64 network "
            f"({_setting('CHECKOUT_FAILURES_PER_MINUTE')})",
            "429 as a page",
        ),
        ("body", _size(settings.BODY_MAX_BYTES), _code("body_too_large")),
        ("request line", f"{_of_server('limit_request_line')} bytes", f"414 {invalid}"),
        ("one header", f"{_of_server('limit_request_field_size')} bytes", f"431 {invalid}"),
        ("headers", str(_of_server("limit_request_fields")), f"431 {invalid}"),
        ("time for a request", duration(context.REQUEST_BUDGET_SECONDS), "500 or 503"),
        (
            "wait for a turn",
            f"{default('WEB_QUEUE_SECONDS')} s ({_setting('WEB_QUEUE_SECONDS')})",
            _code("overloaded"),
        ),
        (
            "`Idempotency-Key`",
            f"1 to {claims.MAX_LENGTH} printable ASCII characters",
            _code("idempotency_key_invalid"),
        ),
    ]


def _parameters() -> list[Row]:
    invalid = _code("parameter_invalid")
    return [
        (
            "an amount",
            f"1 to {MAX_REQUESTED_MINOR}",
            f"{_code('amount_too_small')}, {_code('amount_too_large')}",
        ),
        ("digits of a number in JSON", str(parsers.MAX_NUMBER_DIGITS), _code("body_invalid")),
        ("parameters of a query or a form", str(brackets.MAX_PARAMETERS), invalid),
        (
            "depth of nested parameters",
            str(brackets.MAX_DEPTH),
            f"{_code('body_invalid')}, {invalid}",
        ),
        ("keys of `metadata`", str(metadata.MAX_KEYS), invalid),
        ("a key of `metadata`", f"{fields.METADATA_KEY_MAX} characters", invalid),
        ("a value of `metadata`", f"{fields.METADATA_VALUE_MAX} characters", invalid),
        ("`line_items`", str(forms.LINE_ITEMS_MAX), invalid),
        ("`statement_descriptor`", f"{STATEMENT_MAX} characters", invalid),
        ("`preferred_locales`", str(LOCALES_MAX), invalid),
        ("texts of `evidence` together", f"{evidence.LONGEST} characters", invalid),
        (
            "an address (`return_url`, `url`)",
            f"{urls.MAX_LENGTH} characters",
            f"{_code('return_url_not_allowed')}, {_code('webhook_url_not_allowed')}",
        ),
        ("depth of `expand[]`", str(expansion.DEPTH_MAX), invalid),
    ]


def _lists() -> list[Row]:
    invalid = _code("parameter_invalid")
    return [
        ("`limit`", f"1 to 100, by default {list_query.LIMIT_DEFAULT}", invalid),
        ("`total_count`", str(lists.TOTAL_MAX), "`total_count_capped` is true"),
        ("`q`", f"{list_query.SEARCH_MAX} characters", invalid),
        ("filters by `metadata`", str(filters.METADATA_FILTERS_MAX), invalid),
    ]


def _payments() -> list[Row]:
    return [
        (
            "time for the customer to come back from 3-D Secure",
            duration(deadlines.PAYER_HAS),
            "[`authentication_abandoned`](declines.md#authentication_abandoned)",
        ),
        (
            "time to capture",
            duration(deadlines.AUTHORIZATION_LIVES),
            "the payment is `canceled`, reason `expired`",
        ),
        ("time that a refund waits for your funds", duration(steps.WAITS_FOR), "it is `failed`"),
        (
            "wait before a payout is sent",
            f"{default('PAYOUT_DELAY_SECONDS')} s ({_setting('PAYOUT_DELAY_SECONDS')})",
            "it cannot be canceled any more",
        ),
        (
            "websites and callback URLs of an account",
            f"{sites.SITES_MAX} each",
            "the panel refuses more",
        ),
    ]


def _webhooks() -> list[Row]:
    delays = ", ".join(map(duration, outcomes.DELAYS_SECONDS))
    seconds = default("WEBHOOK_TIMEOUT_SECONDS")
    return [
        ("endpoints", str(dispatch.ENDPOINTS_MAX), _code("endpoint_limit_reached")),
        ("attempts", str(outcomes.MAX_ATTEMPTS), "the endpoint is `failing`"),
        ("waits after failed attempts", delays, ""),
        (
            "time for your answer",
            f"{seconds} s ({_setting('WEBHOOK_TIMEOUT_SECONDS')})",
            "the attempt is a `timeout`",
        ),
        ("headers of your answer", _size(wires.HEAD_MAX), "the attempt is a `connection_error`"),
        (
            "excerpt of your answer that is kept",
            f"{excerpts.KEPT_CHARACTERS} characters",
            "the rest is not read",
        ),
        (
            "age of a signature that a receiver takes",
            duration(300),
            "a receiver of yours refuses it",
        ),
        (
            "`previous_secret_expires_in`",
            f"0 to {WEEK_SECONDS} s ({duration(WEEK_SECONDS)})",
            _code("parameter_invalid"),
        ),
    ]


def _kept() -> list[Row]:
    days = {
        name: f"{default(name)} days ({_setting(name)})"
        for name in ("EVENT_DAYS", "DELIVERY_DAYS", "REQUEST_LOG_DAYS")
    }
    return [
        ("an event", days["EVENT_DAYS"], _code("resource_missing")),
        ("an attempt of a delivery", days["DELIVERY_DAYS"], "it is not listed any more"),
        ("a request log", days["REQUEST_LOG_DAYS"], _code("resource_missing")),
        (
            "the answer to an `Idempotency-Key`",
            f"{settings.IDEMPOTENCY_KEY_HOURS} h",
            "the key is free",
        ),
        (
            "an answer that shows a secret",
            duration(kept.SECRET_ANSWER_LIFE),
            _code("idempotency_key_reused"),
        ),
        (
            "a card number that no attempt needs",
            f"{settings.SEALED_CARD_HOURS} h",
            "it is destroyed",
        ),
        (
            "a card that a payment page keeps for its payer's next press",
            duration(settings.HELD_CARD_SECONDS),
            "it is destroyed; the page asks for it again",
        ),
        (
            "a security code",
            duration(cvc.LIFE_SECONDS),
            "it is destroyed; a confirm needs it again",
        ),
    ]
