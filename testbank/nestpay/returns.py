"""The gate's return: a signed form that the payer's browser carries to the shop.

In the model `3d_pay` the bank has charged by then.
"""

from django.db import transaction

from testbank import misbehaviours
from testbank.models import NestpayVisit
from testbank.nestpay import answers, host, lines, proofs, wrong_returns
from testbank.nestpay.answers import Told
from testbank.nestpay.messages import Refused
from testbank.nestpay.proofs import PROTOCOL
from testbank.nestpay.terminals import TERMINALS
from testbank.protocols import gates
from testbank.protocols.gates import ATTEMPTED, UNKNOWN_CARD, UTF_8, Gate, Posting
from testbank.protocols.proofs import is_proven, rnd, xid
from testbank.router import BANK

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


def posting(visit: NestpayVisit) -> Posting | None:
    """Return what the browser carries to the shop; None: it waits, and is never sent back.

    Charges before, once, where the model says so.
    """
    told = _charged(visit) if visit.model == "3d_pay" else None
    if told is not None and told.is_silent:
        return None
    status = gates.md_status(visit)
    fields = {**visit.echoed, **OF_THE_BANK, **_authenticated(visit, status)}
    if told is not None:
        fields |= _paid(told)
    signed = wrong_returns.signed(visit.wrong, fields, TERMINALS[visit.client_id].store_key)
    return Posting(gates.way_back(visit, status), signed, signed["encoding"])


# The gate, for the pages that send a payer back.
GATE = Gate(NestpayVisit, posting, misbehaviours.RETURN)


def _authenticated(visit: NestpayVisit, status: str) -> dict[str, str]:
    own = visit.authentication
    is_authenticated = is_proven(own)
    return {
        "mdStatus": status,
        "mdErrorMsg": "Authenticated" if is_authenticated else "Not authenticated",
        "txstatus": "A" if status == ATTEMPTED else "Y" if is_authenticated else "N",
        "veresEnrolledStatus": "N" if status == UNKNOWN_CARD else "Y",
        "md": proofs.md(own),
        "xid": xid(own, PROTOCOL),
        "eci": own.eci,
        "cavv": own.cavv,
        "rnd": rnd(own, PROTOCOL),
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
    if not is_proven(visit.authentication):
        return None
    if locked.used_at is None:
        _charge(locked)
    if locked.line is None:
        return answers.refusal(locked.refusal)
    return host.told_of(locked.line)


def _charge(visit: NestpayVisit) -> None:
    payment = gates.payment_of(visit)
    try:
        behaviour = proofs.accepted(visit)
        host.refuse_second(payment)
    except Refused as refused:
        visit.refusal = refused.code
    else:
        visit.line = lines.pay(payment, behaviour)
    visit.save()
