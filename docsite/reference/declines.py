"""The page of everything that a bank's refusal can say: codes of `last_payment_error`."""

from collections.abc import Iterable, Mapping, Sequence

from acquirers import declines
from acquirers.declines import Decline
from core.errors import Explained
from docsite.reference import markdown
from docsite.reference.cards import provoking

TOP = """\
# Declines

A declined card is no error of the API: the answer is 200, the payment is back in
`requires_payment_method`, and `last_payment_error` says why. Decide from `advice_code` and
`decline_code`, and show the customer the `message`: it never tells a secret of the bank.

| field | what it says |
|---|---|
| `type` | `card_error`: a bank refused. `api_error`: no bank was reached |
| `code` | [what happened](#codes) |
| `decline_code` | [what the bank said](#decline-codes), or null |
| `reason` | the `decline_code` if there is one, else the `code` |
| `message` | a sentence that is safe to show to the customer |
| `attempt` | the attempt that failed |
| `network_decline_code` | the bank's own code (ISO 8583), or null |
| `advice_code` | [whether to try again](#advice-codes), or null |
"""


def page() -> str:
    """Return the page.

    :raises KeyError: a code is not explained.
    """
    known = declines.DECLINES
    return "\n".join(
        [
            TOP,
            "## Codes\n",
            *_entries(
                declines.CODES,
                declines.EXPLAINED_CODES,
                {code: [one for one in known if one.code == code] for code in declines.CODES},
                prefix="",
            ),
            "## Decline codes\n",
            *_entries(
                declines.DECLINE_CODES,
                declines.EXPLAINED_DECLINE_CODES,
                {
                    code: [one for one in known if one.decline_code == code]
                    for code in declines.DECLINE_CODES
                },
                prefix="decline-",
            ),
            "## Advice codes\n",
            *_entries(
                declines.ADVICE_CODES,
                declines.EXPLAINED_ADVICE_CODES,
                {
                    code: [one for one in known if one.advice_code == code]
                    for code in declines.ADVICE_CODES
                },
                prefix="advice-",
            ),
        ]
    )


def _entries(
    codes: Iterable[str],
    explained: Mapping[str, Explained],
    known: Mapping[str, Sequence[Decline]],
    *,
    prefix: str,
) -> Iterable[str]:
    for code in codes:
        meaning, again = explained[code]
        rows = [("What it means", meaning), ("Try again?", again)]
        tell = list(dict.fromkeys(one.message for one in known[code]))
        rows += [("Tell the customer", " or ".join(f"“{one}”" for one in tell))]
        advice = sorted({one.advice_code or "null" for one in known[code]})
        if not prefix.startswith("advice"):
            rows += [("`advice_code`", markdown.codes(advice))]
        if within := sorted({one.decline_code for one in known[code] if one.decline_code}):
            rows += [("`decline_code`", markdown.codes(within))] if prefix != "decline-" else []
        rows += [("Test cards", provoking(known[code]) or "none of the sandbox's cards")]
        yield markdown.heading(3, code, anchor=prefix + code)
        yield markdown.table(("", ""), rows)
