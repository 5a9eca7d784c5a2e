"""The description of quotes in the API's schema."""

from core.rest import schema
from core.rest.components import named
from core.rest.schema import Operation, nullable, ref, text

_CARD = named("InstallmentQuoteCard", schema.record(
    "The facts of the cards that begin with these digits.",
    {
        "brand": nullable(schema.BRAND.open("The card network; null if it is unknown.")),
        "card_type": schema.CARD_TYPE.open("What the card draws on; `credit` if it is unknown."),
        "domestic": schema.boolean("Whether it was issued in your account's country."),
        "commercial": schema.boolean("Whether it is a company's card."),
        "issuer": nullable(text("The bank that issued it; null if unknown.")),
        "program": nullable(text("Its installment programme; null if it is in none.")),
    },
))  # fmt: skip
_OPTION = named("InstallmentOption", schema.record(
    "One way to pay.",
    {
        "installments": schema.integer("How many; 1 is paid at once.", minimum=1),
        "amount_charged": schema.minor("What the card pays in all, surcharge included."),
        "surcharge": schema.minor("The part of it that the installments cost."),
        "surcharge_rate_bps": schema.integer("The surcharge in basis points of the amount."),
        "installment_amount": schema.minor("Each installment after the first."),
        "first_installment_amount": schema.minor("The first installment, with the remainder."),
    },
))  # fmt: skip

SCHEMAS = {
    "InstallmentQuote": schema.record(
        "The ways in which a card may pay an amount. Nothing is stored.",
        {
            "object": schema.kind("installment_quote"),
            "bin": {**text("The first digits, as you sent them."), "pattern": "^[0-9]{6,8}$"},
            "amount": schema.minor("The amount, as you sent it."),
            "currency": schema.CURRENCY,
            "card": _CARD,
            "three_d_secure_required": schema.boolean(
                "Whether the customer must authenticate, whatever you ask for."
            ),
            "options": schema.array(_OPTION, "By count, 1 first."),
            "livemode": schema.LIVEMODE,
        },
    )
}
INSTALLMENTS = {
    "retrieve": Operation(
        "Quote installments",
        ref("InstallmentQuote"),
        description="The installments that a card may pay in, by its first digits, and their cost.",
    )
}
