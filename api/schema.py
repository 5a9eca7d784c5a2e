"""How the account and the request logs are described in the API's schema."""

from core.rest import schema
from core.rest.schema import Operation, nullable, ref, text
from merchants.models import Merchant, PayoutSchedule, RequestLog

_LIMIT = schema.record(
    "What may be taken without 3-D Secure in one currency. A currency without a row takes none.",
    {
        "currency": schema.CURRENCY,
        "per_payment": nullable(schema.minor("The most per payment; null for no bound.")),
        "per_day": nullable(schema.minor("The most per day of the account; null for no bound.")),
    },
)

_PLAN = schema.record(
    "A count of installments that payers may choose, and its price.",
    {
        "program": nullable(text("The cards' programme; null for all that have no plan here.")),
        "installments": schema.integer("How many.", minimum=2),
        "surcharge_rate_bps": schema.integer("What the payer pays on top, in basis points."),
        "minimum_amount": schema.minor("The least amount of a payment."),
    },
)

_SCHEDULE = schema.record(
    "When money becomes available, and when it is paid out. An operator sets it.",
    {
        "interval": schema.one_of(PayoutSchedule.Interval.values, "`manual`: when you ask for it."),
        "weekly_anchor": nullable(
            schema.one_of(PayoutSchedule.Weekday.values, "The day of a `weekly` interval.")
        ),
        "monthly_anchor": nullable(
            schema.integer("The day of a `monthly` interval; shorter months end before.", minimum=1)
        ),
        "minimum_amount": schema.minor("Less than that is not paid out by itself."),
        "delay_days": schema.integer("Business days from a capture to its money.", minimum=0),
        "installments": schema.one_of(
            PayoutSchedule.Installments.values,
            "Payments in installments: their money at once (`whole`), or a part each month.",
        ),
    },
)

MERCHANTS = {
    "Merchant": schema.resource(
        "merchant",
        "mer",
        "The account that a key belongs to.",
        {
            "name": text("The name that payers see."),
            "legal_name": nullable(text("The name of the company.")),
            "country": {**text("Two letters."), "pattern": "^[A-Z]{2}$"},
            "default_currency": schema.CURRENCY,
            "timezone": text("An IANA time zone, `Europe/Istanbul`: when the account's day ends."),
            "mcc": nullable(text("The merchant category code.")),
            "status": schema.one_of(Merchant.Status.values, "Only `active` takes payments."),
            "charges_enabled": schema.boolean(
                "Whether a payment would be taken now: false unless the account is active."
            ),
            "payouts_enabled": schema.boolean(
                "Whether a payout would be made now: false unless the account is active."
            ),
            "non_secure_allowed": schema.boolean(
                "Whether payments may be taken without 3-D Secure, within `non_secure_limits`."
            ),
            "non_secure_limits": schema.array(_LIMIT, "By currency."),
            "installments": schema.array(_PLAN, "By programme, then by count."),
            "payout_schedule": _SCHEDULE,
            "websites": schema.array({"type": "string"}, "The registered websites."),
            "callback_urls": schema.array({"type": "string"}, "The registered callback URLs."),
            "metadata": schema.METADATA,
        },
    ),
}
LOGS = {
    "RequestLog": schema.resource(
        "request_log",
        "req",
        "A request to the API, or a background change. Card data and secrets are masked.",
        {
            "kind": schema.one_of(
                RequestLog.Kind.values, "`job` for a background change, `panel` for a person's."
            ),
            "method": nullable(text("Null for a job.")),
            "path": text("For a job, the task's name."),
            "query": nullable(text("As it was sent.")),
            "status": nullable(schema.integer("The answer's HTTP status.", minimum=100)),
            "duration_ms": schema.integer("How long it took, in milliseconds."),
            "api_key": nullable(schema.identifier("key", "The key that was sent.")),
            "idempotency_key": nullable(text("As it was sent.")),
            "original_request": nullable(
                schema.identifier("req", "Of a replay: the request that was answered first.")
            ),
            "object_id": nullable(text("The object that it was about.")),
            "ip": nullable(text("Where it came from.")),
            "api_version": nullable(text("The version that it was answered in.")),
            "request_body": nullable(text("Up to 16 KiB.")),
            "response_body": nullable(text("Up to 16 KiB.")),
            "truncated": schema.boolean("Whether one of the bodies was longer."),
            "error_code": nullable(text("The code that it was refused with.")),
        },
    ),
}

MERCHANT = {"retrieve": Operation("Read your account", ref("Merchant"))}
REQUEST_LOGS = {
    "list": Operation("List requests", schema.list_of(ref("RequestLog"))),
    "retrieve": Operation("Read a request", ref("RequestLog")),
}
