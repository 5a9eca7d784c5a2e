"""How the account and the request logs are described in the API's schema."""

from core.rest import schema
from core.rest.components import Choices, named
from core.rest.schema import Operation, nullable, ref, text
from merchants.filters import LOG_KIND
from merchants.models import PayoutSchedule
from merchants.states import MERCHANTS as _STATES

_STATUS = Choices("MerchantStatus", _STATES.meanings)
_INTERVAL = Choices(
    "PayoutInterval",
    {
        PayoutSchedule.Interval.MANUAL: "Only when you create a payout.",
        PayoutSchedule.Interval.DAILY: "Every business day.",
        PayoutSchedule.Interval.WEEKLY: "Every week, on `weekly_anchor`.",
        PayoutSchedule.Interval.MONTHLY: "Every month, on `monthly_anchor`.",
    },
)
_WEEKDAY = Choices("Weekday", {day: f"{day.title()}." for day in PayoutSchedule.Weekday.values})
_SETTLED = Choices(
    "InstallmentSettlement",
    {
        PayoutSchedule.Installments.WHOLE: "The whole amount at once.",
        PayoutSchedule.Installments.MONTHLY: "A part each month.",
    },
)

_LIMIT = named("NonSecureLimit", schema.record(
    "What may be taken without 3-D Secure in one currency. A currency without a row takes none.",
    {
        "currency": schema.CURRENCY,
        "per_payment": nullable(schema.minor("The most per payment; null for no bound.")),
        "per_day": nullable(schema.minor("The most per day of the account; null for no bound.")),
    },
))  # fmt: skip

_PLAN = named("InstallmentPlan", schema.record(
    "A count of installments that payers may choose, and its price.",
    {
        "program": nullable(text("The cards' programme; null for all that have no plan here.")),
        "installments": schema.integer("How many.", minimum=2),
        "surcharge_rate_bps": schema.integer("What the payer pays on top, in basis points."),
        "minimum_amount": schema.minor("The least amount of a payment."),
    },
))  # fmt: skip

_SCHEDULE = named("PayoutSchedule", schema.record(
    "When money becomes available, and when it is paid out. An operator sets it.",
    {
        "interval": _INTERVAL.open("How often money is paid out."),
        "weekly_anchor": nullable(
            _WEEKDAY.open("The day of a `weekly` interval; null for the others.")
        ),
        "monthly_anchor": nullable(
            schema.integer(
                "The day of a `monthly` interval, or the last of the month.",
                minimum=1,
            )
        ),
        "minimum_amount": schema.minor("The schedule pays out no less than this."),
        "delay_days": schema.integer("Business days from a capture to its money.", minimum=0),
        "installments": _SETTLED.open("When the money of payments in installments comes."),
    },
))  # fmt: skip

MERCHANTS = {
    "Merchant": schema.resource(
        "merchant",
        "mer",
        "The account that a key belongs to.",
        {
            "name": text("The name that payers see."),
            "legal_name": nullable(text("The name of the company.")),
            "country": {
                **text("The country's two letters (ISO 3166-1 alpha-2)."),
                "pattern": "^[A-Z]{2}$",
            },
            "default_currency": schema.CURRENCY,
            "timezone": text("An IANA time zone, `Europe/Istanbul`: when the account's day ends."),
            "mcc": nullable(text("The merchant category code.")),
            "status": _STATUS.open("Where the account stands. Only `active` takes payments."),
            "charges_enabled": schema.boolean(
                "Whether a payment would be taken now: false unless the account is active."
            ),
            "payouts_enabled": schema.boolean(
                "Whether a payout would be made now: false unless the account is active."
            ),
            "non_secure_allowed": schema.boolean(
                "Whether payments may be taken without 3-D Secure, within `non_secure_limits`."
            ),
            "non_secure_limits": schema.array(_LIMIT, "The limits, by currency."),
            "installments": schema.array(_PLAN, "The plans, by programme, then by count."),
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
            "kind": LOG_KIND.open("The kind of request."),
            "method": nullable(text("The HTTP method; null for a job.")),
            "path": text("The path; for a job, the task's name."),
            "query": nullable(text("The query, as it was sent; null if there was none.")),
            "status": nullable(
                schema.integer("The answer's HTTP status; null for a job.", minimum=100)
            ),
            "duration_ms": schema.integer("How long it took, in milliseconds."),
            "api_key": nullable(
                schema.identifier("key", "The id of the key that was sent; null without one.")
            ),
            "idempotency_key": nullable(text("The `Idempotency-Key`; null if none was sent.")),
            "original_request": nullable(
                schema.identifier(
                    "req",
                    "The request whose answer was given once more; null unless it is a replay.",
                )
            ),
            "object_id": nullable(
                text("The id of the object that it was about; null if there is none.")
            ),
            "ip": nullable(text("The IP address that it came from; null for a job.")),
            "api_version": nullable(
                text("The API version that it was answered in; null for a job.")
            ),
            "request_body": nullable(text("The masked body, up to 16 KiB; null if it was empty.")),
            "response_body": nullable(
                text("The masked answer, up to 16 KiB; null if it was empty.")
            ),
            "truncated": schema.boolean("Whether one of the bodies was longer than 16 KiB."),
            "error_code": nullable(text("The code that it was refused with; null if it was not.")),
        },
    ),
}

MERCHANT = {
    "retrieve": Operation(
        "Read your account",
        ref("Merchant"),
        description="The account that the key belongs to, with its terms and limits.",
    )
}
REQUEST_LOGS = {
    "list": Operation(
        "List requests",
        schema.list_of("RequestLogList", ref("RequestLog")),
        description="The requests to your account of the last 30 days, the newest first.",
    ),
    "retrieve": Operation(
        "Read a request",
        ref("RequestLog"),
        description="A request by its id, which its answer had in the header `Request-Id`.",
    ),
}
