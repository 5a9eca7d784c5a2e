"""The pages that are opened: every one of the panel's URL table, and filters of its lists."""

from typing import NamedTuple

from bench.panel_fill import OLD_KEY

# Rows that the cursor of a page at depth has before it.
DEPTH = 10_000
NOTHING = "0" * 24


class Case(NamedTuple):
    """A page, and what its address asks for.

    :param page: its name in the URL table.
    :param query: `{rare}` and `{common}` end the ids of a rare and a common row, `{day}` and
        `{week}` are instants so long ago, `{key}`, `{endpoint}` and `{customer}` the merchant's.
    :param where: of a list that is also opened at depth: the rows, in SQL.
    :param table: the table of that list.
    :param may_be_late: no index has what is asked for, and the page may take its time, or say
        "narrow the time"; it is opened for one day, too.
    """

    page: str
    query: str = ""
    where: str = ""
    table: str = ""
    may_be_late: bool = False

    @property
    def name(self) -> str:
        return f"{self.page}?{self.query}" if self.query else self.page


def _logs(query: str, where: str = "", *, may_be_late: bool = False) -> Case:
    return Case("request_logs", query, where, "merchants_requestlog", may_be_late)


def _events(query: str, where: str = "", *, may_be_late: bool = False) -> Case:
    return Case("events", query, where, "events_event", may_be_late)


def _payments(query: str, where: str = "", *, may_be_late: bool = False) -> Case:
    return Case("payments", query, where, "intents_paymentintent", may_be_late)


# Every filter and order of the contract that these rows have something for.
PAYMENTS = [
    _payments("", "true"),
    _payments("status=succeeded", "status = 'succeeded'"),
    _payments("status=processing"),
    _payments("status[]=canceled&status[]=succeeded", "status IN ('canceled', 'succeeded')"),
    _payments("currency=eur", "currency = 'eur'"),
    _payments("currency=gbp"),
    _payments("capture_method=manual", "capture_method = 'manual'"),
    _payments("amount[gte]=400000&sort=-amount"),
    _payments("amount[lt]=5000&sort=amount"),
    _payments("created[gte]={week}&created[lt]={day}", "created_at < to_timestamp({day})"),
    _payments("sort=created"),
    _payments("customer={customer}"),
    _payments("metadata[order]=1"),
    _payments("q=order 77"),
    _payments("status=succeeded&currency=eur&capture_method=manual"),
]
LOGS = [
    _logs("", "true"),
    _logs("status=2xx", "status = 200"),
    _logs("status=4xx", "status = 400"),
    _logs("status=400", "status = 400"),
    _logs("status=5xx"),
    _logs("status=409"),
    _logs("status=202"),
    _logs("method=GET", "method = 'GET'"),
    _logs("method=DELETE"),
    _logs("method=PATCH"),
    _logs("path=/v1/payment_intents", "path = '/v1/payment_intents'"),
    _logs("path=/v1/customers/cus_{rare}"),
    _logs("path=/v1/nowhere"),
    _logs("path=/v1/payment_intents/{{id}}", "path LIKE '/v1/payment_intents/%%'"),
    _logs("path=/v1/refunds/{{id}}"),
    _logs("error_code=parameter_invalid", "error_code = 'parameter_invalid'"),
    _logs("error_code=acquirer_unavailable"),
    _logs("error_code=no_such_code"),
    _logs("error_code=no_such_code&status=400"),
    _logs("object_id=pi_{rare}"),
    _logs(f"object_id=pi_{NOTHING}"),
    _logs("api_key={key}", "api_key = '{key}'"),
    _logs(f"api_key={OLD_KEY}"),
    _logs("api_key=key_none"),
    _logs("idempotency_key=order-7"),
    _logs("idempotency_key=none"),
    _logs("kind=api", "kind = 'api'"),
    _logs("kind=panel"),
    _logs("kind=job"),
    _logs("created[gte]={week}&created[lt]={day}", "created_at < to_timestamp({day})"),
    _logs("created[lt]=1000000000"),
    _logs("sort=created"),
]
EVENTS = [
    _events("", "true"),
    _events("type=payment_intent.succeeded", "type = 'payment_intent.succeeded'"),
    _events("type=customer.deleted"),
    _events("type=dispute.created"),
    _events("aggregate_type=payment_intent", "aggregate_type = 'payment_intent'"),
    _events("aggregate_type=customer"),
    _events("aggregate_type=dispute"),
    _events("aggregate_id=pi_{common}"),
    _events(f"aggregate_id=pi_{NOTHING}"),
    _events("delivery_success=true", "true"),
    _events("delivery_success=false", may_be_late=True),
    _events("type=dispute.created&delivery_success=false"),
    _events("created[gte]={week}&created[lt]={day}", "created_at < to_timestamp({day})"),
]
OTHERS = [
    Case("refunds", "status=succeeded"),
    Case("disputes", "status=needs_response"),
    Case("customers", "email=customer77@example.com"),
    Case("audit_log", "action=key.created"),
    Case("request_errors", "period=7d"),
    Case("endpoint", "", "endpoint_id = '{endpoint}'", "webhooks_delivery"),
    Case("search", "q=order 1"),
    Case("search", "q=order"),
    Case("search", "q=nothing begins so"),
    Case("search", "q=customer77@example.com"),
    Case("search", "q=nobody@example.com"),
    Case("search", "q=pi_{rare}"),
    Case("search", "q=req_{rare}"),
    Case("search", f"q=pi_{NOTHING}"),
    Case("search", f"q=att_{NOTHING}"),
]
FILTERED = [*PAYMENTS, *LOGS, *EVENTS, *OTHERS]
