"""The gate of 3-D Secure: the form that a payer's browser posts, and the one that it brings back.

The browser could have written what it brings. Only what the hash covers counts: neither amount nor
currency, so that the money is always the order's. The hash covers values one behind the other, so
that each has an exact form.
"""

import re
from collections.abc import Mapping

from acquirers import messages, returned_forms
from acquirers.garanti import bodies, hashes
from acquirers.garanti.access import LEVELS, OURS, Access
from acquirers.gateway import AuthenticationRequest, Order
from acquirers.three_d_secure import (
    ATTEMPTED,
    FULL,
    AskTheBank,
    Authenticated,
    AuthenticationProof,
    Forged,
    NotAuthenticated,
    Return,
)

# Of the bank's own charge; empty where it charges nothing before our call.
CHARGED = ("authcode", "procreturncode", "response")
FORMS = {
    "authcode": re.compile(r"[0-9A-Za-z]{0,12}"),
    "procreturncode": re.compile(r"[0-9A-Z]{0,2}"),
    "response": re.compile(r"[A-Za-z]{0,16}"),
    "mdstatus": re.compile(r"[0-9]"),
    # 20 bytes in Base64.
    "cavv": re.compile(r"(?:[0-9A-Za-z+/]{27}=)?"),
    "eci": re.compile(r"(?:[0-9]{2})?"),
    "md": re.compile(r"[!-~]{0,1024}"),
    # Its length alone is known: by it no character moves between `md` and it.
    "rnd": re.compile(r"[!-~]{20}"),
}
# It is not signed: it goes back to the bank, which knows it, and is used for nothing else.
XID = re.compile(r"[!-~]{0,64}")


def form(request: AuthenticationRequest, access: Access) -> dict[str, str]:
    """Return the fields for the gate, with the card.

    :raises wire.NotSent: the card does not open, or the bank has no such currency.
    """
    order, card = request.order, messages.revealed(request.sealed)
    month, year = messages.expiry(card)
    fields = {
        "mode": access.mode,
        "apiversion": bodies.VERSION,
        "secure3dsecuritylevel": LEVELS[access.model],
        "terminalprovuserid": access.seller.name,
        "terminaluserid": access.seller.name,
        "terminalmerchantid": access.merchant_id,
        "terminalid": access.terminal_id,
        "txntype": bodies.kind_of_payment(is_sale=request.capture),
        "txnamount": str(order.amount),
        "txncurrencycode": messages.numeric(order.currency),
        "txninstallmentcount": messages.installments(order.installments),
        "orderid": order.reference,
        # The one or the other proves nothing.
        "successurl": request.callback_url,
        "errorurl": request.callback_url,
        "customeripaddress": order.payer.ip or access.ip_address,
        "lang": messages.language(),
        "cardnumber": card.number,
        "cardexpiredatemonth": month,
        "cardexpiredateyear": year,
        "cardcvv2": request.cvc or "",
    }
    secret = hashes.security(access.seller.password, access.terminal_id)
    return {**fields, "secure3dhash": hashes.of_form(fields, access.store_key, secret)}


def read(order: Order, raw: bytes, content_type: str, access: Access) -> Return:
    """Verify and read the body that the browser posted.

    :raises Forged: it is not the bank's answer about this order.
    """
    fields = returned_forms.read(raw, content_type, encoding="latin-1")
    returned_forms.require_plain_names(fields)
    if any(fields.get(name, order.reference) != order.reference for name in ("oid", "orderid")):
        raise Forged("The answer is about another order.")
    if not (fields.get("hash") or fields.get("hashparams")):
        return _unsigned(fields, access)
    _require_signed(fields, order, access)
    if access.model != OURS or any(fields.get(name) for name in CHARGED):
        return AskTheBank()  # The bank may have charged by itself.
    return _authentication(fields, access)


def _unsigned(fields: Mapping[str, str], access: Access) -> Return:
    """Return the end of a try: a system error comes without a hash, and can do no more.

    :raises Forged: it says that the payer has authenticated.
    """
    md_status = fields.get("mdstatus", "")
    if md_status in (FULL, *ATTEMPTED):
        raise Forged("It is not signed.")
    if access.model != OURS:
        return AskTheBank()
    return NotAuthenticated(md_status if FORMS["mdstatus"].fullmatch(md_status) else None)


def _require_signed(fields: Mapping[str, str], order: Order, access: Access) -> None:
    """:raises Forged: the hash is not the bank's, or a value could be another's in part."""
    if fields.get("hashparams") != hashes.RETURNED_LIST:
        raise Forged("It is signed in another way.")
    made = hashes.of_return(fields, access.store_key)
    if not hashes.is_same(made, fields.get("hash", "")):
        raise Forged("The hash is not the bank's.")
    if fields.get("oid") != order.reference or fields.get("clientid") != access.terminal_id:
        raise Forged("The answer is about another payment.")
    if not all(form.fullmatch(fields.get(name, "")) for name, form in FORMS.items()):
        raise Forged("A value has another form.")


def _authentication(fields: Mapping[str, str], access: Access) -> Return:
    md_status = fields["mdstatus"]
    is_attempted = md_status in ATTEMPTED and access.accepts_attempted
    if md_status != FULL and not is_attempted:
        return NotAuthenticated(md_status)
    proof = {name: fields.get(name, "") for name in ("cavv", "eci", "xid", "md")}
    # An issuer that answers for its customer may give no value of its own.
    needed = ("eci", "md") if is_attempted else ("cavv", "eci", "md")
    if not all(proof[name] for name in needed) or XID.fullmatch(proof["xid"]) is None:
        return NotAuthenticated(md_status)  # Without all of it the bank takes no payment.
    return Authenticated(
        md_status=md_status,
        eci=proof["eci"],
        proof=AuthenticationProof(proof),
        has_proof=bool(proof["cavv"]),
    )
