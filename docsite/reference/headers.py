"""The page of all headers: of requests, of answers, and of deliveries to your endpoint."""

from collections.abc import Mapping

from docsite.reference import markdown, openapi
from webhooks.delivery.http import headers as of_deliveries

TOP = """\
# Headers

Send a header that has one value once: two lines of it are refused with `header_repeated`.
"""
# Headers that the API's document has no place for.
SENT = {
    "Authorization": "`Bearer` and your secret key. Required, except for `GET /v1/openapi.json`.",
    "Content-Type": "`application/json` with a body. `application/x-www-form-urlencoded` is taken "
    "too, for Stripe's SDKs.",
    "Content-Encoding": "None but `identity`: a compressed body is refused with "
    "`unsupported_media_type`.",
    "Host": "The installation's own name; another one is refused.",
    "X-Forwarded-Proto": "Read with `BEHIND_PROXY` alone: the proxy sets it, never a client.",
    **dict.fromkeys(
        ("Origin", "Referer", "Sec-Fetch-Site", "X-CSRFToken"),
        "Read by pages alone. The API does not: keys belong on servers, not in browsers.",
    ),
    "Stripe-Version": "Ignored, so that Stripe's SDKs work unchanged.",
}
ANSWERED = {
    "Content-Type": "`application/json`.",
    "Content-Length": "The bytes of the answer.",
    "Allow": "With 405: the methods that the address takes.",
    "Cache-Control": "`no-store`, so that no proxy keeps an answer.",
    "Date": "When the answer was written.",
    **dict.fromkeys(
        (
            "Cross-Origin-Opener-Policy",
            "Referrer-Policy",
            "X-Content-Type-Options",
            "X-Frame-Options",
        ),  # fmt: skip
        "For browsers that open the address. A server need not read it.",
    ),
}
DELIVERED = {
    "Content-Type": f"Always `{of_deliveries.FIXED['Content-Type']}`.",
    "User-Agent": f"Always `{of_deliveries.FIXED['User-Agent']}`.",
    "Accept-Encoding": "`identity`: your answer must not be compressed.",
    "PF-Event-Id": "The event's id. Store it, and ignore an event whose id you have.",
    "PF-Delivery-Id": "The id of this attempt, as the list of deliveries shows it.",
    "PF-Signature": "`t=` with the unix time of this attempt, then `v1=` with the HMAC-SHA256 of "
    "`t.body` in hexadecimal. While a secret is rolled there are two `v1`. "
    "[How to verify it](../how-to/webhooks.md#the-signature).",
}


def page() -> str:
    """Return the page."""
    return "\n".join(
        [
            TOP,
            "## Of a request\n",
            _table({**_described("parameters"), **SENT}),
            "## Of an answer\n",
            _table({**_described("headers"), **ANSWERED}),
            "## Of a delivery to your endpoint\n",
            _table(DELIVERED),
        ]
    )


def _described(kind: str) -> Mapping[str, str]:
    """Return the headers of the API's document, with their descriptions."""
    found = openapi.document()["components"][kind].items()
    named = {shape.get("name", name): shape for name, shape in found}
    return {
        name: _with_values(shape)
        for name, shape in named.items()
        if shape.get("in", "header") == "header"
    }


def _with_values(shape: openapi.Shape) -> str:
    values = openapi.values(openapi.merged(shape["schema"]))
    versions = f" One of {markdown.codes(values)}." if values else ""
    return " ".join(str(shape["description"]).split()) + versions


def _table(rows: Mapping[str, str]) -> str:
    return markdown.table(
        ("header", "meaning"), [(f"`{name}`", text) for name, text in sorted(rows.items())]
    )
