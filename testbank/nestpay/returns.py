"""The gate's return: a signed form that the payer's browser carries to the shop.

In the model `3d_pay` the bank has charged by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import transaction

from testbank import behaviours, misbehaviours
from testbank.models import Authentication, NestpayVisit
from testbank.nestpay import answers, host, lines, proofs, wrong_returns
from testbank.nestpay.answers import Told
from testbank.nestpay.lines import Payment
from testbank.nestpay.messages import Refused
from testbank.nestpay.terminals import TERMINALS
from testbank.router import BANK
from testbank.states import AuthenticationState

FULL, ATTEMPTED, FAILED, UNKNOWN_CARD, THREE_D_ERROR = "1", "4", "0", "8", "6"
UTF_8 = "UTF-8"
OF_THE_BANK = {
    "ACQBIN": "490740",
    "PAResSyntaxOK": "true",
    "SID": "",
    "callbackCall": "false",
    "cavvAlgorithm": "2",
    "digest": "digest",
    "dsId": "1",
    "iReqCode": "",
    "iReqDetail": "",
    "payResults.dsId": "1",
    "protocol": "3DS2.2.0",
    "refreshtime": "0",
    "vendorCode": "",
    "version": "2.0",
    # Texts as banks have them: letters of the country, and the character between hashed values.
    "EXTRA_CARDISSUER": "ZİRAAT BANKASI",
    "EXTRA_CARDHOLDERNAME": "AD* ŞE*",
    "EXTRA_UCAFINDICATOR": "a|b\\c",
}


@dataclass(frozen=True, slots=True)
class Posting:
    """A form that the payer's browser posts; without one the bank never sends the browser back."""

    url: str
    fields: Mapping[str, str]
    encoding: str = UTF_8


def visit_of(authentication: Authentication) -> NestpayVisit | None:
    """Return the visit at the gate that an authentication is of; None for the sandbox's own."""
    return NestpayVisit.objects.filter(authentication=authentication).first()


def misbehave(visit: NestpayVisit) -> None:
    """Let something be wrong with the return of a payer who has just decided, if it was planned."""
    visit.wrong = misbehaviours.take(misbehaviours.RETURN)
    if visit.wrong:
        visit.save()


def posting(visit: NestpayVisit) -> Posting | None:
    """Return what the browser carries to the shop; None: it waits, and is never sent back.

    Charges before, once, where the model says so.
    """
    told = _charged(visit) if visit.model == "3d_pay" else None
    if told is not None and told.is_silent:
        return None
    status = _md_status(visit)
    fields = {**visit.echoed, **OF_THE_BANK, **_authenticated(visit, status)}
    if told is not None:
        fields |= _paid(told)
    signed = wrong_returns.signed(visit.wrong, fields, TERMINALS[visit.client_id].store_key)
    url = visit.fail_url if status in (FAILED, UNKNOWN_CARD, THREE_D_ERROR) else None
    return Posting(url or visit.echoed["okUrl"], signed, signed["encoding"])


def _md_status(visit: NestpayVisit) -> str:
    own = visit.authentication
    if own.state == AuthenticationState.CANNOT_START:
        is_unknown = own.behaviour == behaviours.UNLISTED.name
        return UNKNOWN_CARD if is_unknown else THREE_D_ERROR
    if not proofs.is_proven(own):
        return FAILED
    return ATTEMPTED if visit.wrong == proofs.ATTEMPTED else FULL


def _authenticated(visit: NestpayVisit, status: str) -> dict[str, str]:
    own = visit.authentication
    is_proven = proofs.is_proven(own)
    return {
        "mdStatus": status,
        "mdErrorMsg": "Authenticated" if is_proven else "Not authenticated",
        "txstatus": "A" if status == ATTEMPTED else "Y" if is_proven else "N",
        "veresEnrolledStatus": "N" if status == UNKNOWN_CARD else "Y",
        "md": proofs.md(own),
        "xid": proofs.xid(own),
        "eci": own.eci,
        "cavv": own.cavv,
        "rnd": proofs.rnd(own),
        "maskedCreditCard": visit.masked,
        "MaskedPan": visit.masked.replace(" ", ""),
        "merchantID": visit.client_id,
        "merchantName": own.merchant_name,
        "clientIp": visit.payer_ip,
        "EXTRA_CARDBRAND": own.brand.upper(),
        "encoding": UTF_8,
    }


def _paid(told: Told) -> dict[str, str]:
    return {
        "Response": told.response,
        "ProcReturnCode": told.code,
        "AuthCode": told.auth_code,
        "HostRefNum": told.host_ref,
        "TransId": told.trans_id,
        "ErrMsg": told.message,
        "EXTRA_ERRORCODE": told.error,
    }


@transaction.atomic(using=BANK, durable=True)
def _charged(visit: NestpayVisit) -> Told | None:
    """Charge for a proven visit, once; return what became of it. None where nothing is charged."""
    locked = NestpayVisit.objects.select_for_update().get(pk=visit.pk)
    if not proofs.is_proven(visit.authentication):
        return None
    if locked.used_at is None:
        _charge(locked, visit.authentication)
    if locked.line is None:
        return answers.refusal(locked.refusal)
    return host.told_of(locked.line)


def _charge(visit: NestpayVisit, own: Authentication) -> None:
    payment = Payment(
        terminal=TERMINALS[visit.client_id],
        order_id=visit.order_id,
        amount=own.amount,
        currency=own.currency,
        installments=own.installments,
        capture=visit.capture,
    )
    try:
        behaviour = proofs.accepted(visit)
        host.refuse_second(payment)
    except Refused as refused:
        visit.refusal = refused.code
    else:
        visit.line = lines.pay(payment, behaviour)
    visit.save()
