"""The gate's return: a form, signed over ten of its values, that the payer's browser carries.

In level `3D_PAY` the bank has charged by then.
"""

from django.db import transaction

from testbank import misbehaviours
from testbank.garanti import answers, host, lines, proofs, wrong_returns
from testbank.garanti.answers import HOST, Told
from testbank.garanti.messages import Refused
from testbank.garanti.proofs import PROTOCOL
from testbank.garanti.terminals import TERMINALS
from testbank.models import GarantiVisit
from testbank.protocols import gates
from testbank.protocols.gates import ATTEMPTED, UTF_8, Gate, Posting
from testbank.protocols.proofs import is_proven, rnd, xid
from testbank.router import BANK

CHARGES = "3D_PAY"
NOTHING_CHARGED = dict.fromkeys(
    ("authcode", "procreturncode", "response", "transid", "hostrefnum", "errmsg"), ""
)


def posting(visit: GarantiVisit) -> Posting | None:
    """Return what the browser carries to the shop; None: it waits, and is never sent back.

    Charges before, once, where the level says so.
    """
    told = _charged(visit) if visit.model == CHARGES else None
    if told is not None and told.is_silent:
        return None
    status = gates.md_status(visit)
    paid = NOTHING_CHARGED if told is None else _paid(told)
    fields = {**visit.echoed, **_authenticated(visit, status), **paid}
    signed = wrong_returns.signed(visit.wrong, fields, TERMINALS[visit.client_id].store_key)
    return Posting(gates.way_back(visit, status), signed, signed["encoding"])


# The gate, for the pages that send a payer back.
GATE = Gate(GarantiVisit, posting, misbehaviours.GARANTI_RETURN)


def _authenticated(visit: GarantiVisit, status: str) -> dict[str, str]:
    own = visit.authentication
    is_authenticated = is_proven(own)
    return {
        "oid": visit.order_id,
        "orderid": visit.order_id,
        "clientid": visit.client_id,
        "mdstatus": status,
        # Letters of the country, as banks write them.
        "mderrormessage": "Doğrulandı" if is_authenticated else "Doğrulanamadı: şifre yanlış",
        "txnstatus": "A" if status == ATTEMPTED else "Y" if is_authenticated else "N",
        "md": proofs.md(own),
        "xid": xid(own, PROTOCOL),
        "eci": own.eci,
        "cavv": own.cavv,
        "rnd": rnd(own, PROTOCOL),
        "MaskedPan": visit.masked,
        "encoding": UTF_8,
    }


def _paid(told: Told) -> dict[str, str]:
    no = "Declined" if told.source == HOST else "Error"
    return {
        "authcode": told.auth_code,
        "procreturncode": told.code,
        "response": "Approved" if told.code == "00" else no,
        "transid": told.host_ref,
        "hostrefnum": told.host_ref,
        "errmsg": told.error,
    }


@transaction.atomic(using=BANK, durable=True)
def _charged(visit: GarantiVisit) -> Told | None:
    """Charge for a proven visit, once; return what became of it. None where nothing is charged."""
    locked = GarantiVisit.objects.select_for_update().get(pk=visit.pk)
    if not is_proven(visit.authentication):
        return None
    if locked.used_at is None:
        _charge(locked)
    if locked.line is None:
        return answers.refusal(locked.refusal)
    return host.told_of(locked.line)


def _charge(visit: GarantiVisit) -> None:
    payment = gates.payment_of(visit)
    try:
        behaviour = proofs.accepted(visit)
        host.refuse_second(payment)
    except Refused as refused:
        visit.refusal = refused.code
    else:
        visit.line = lines.pay(payment, behaviour)
    visit.save()
