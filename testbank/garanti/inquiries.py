"""Answers to inquiries: an order's payment, all its transactions, and a terminal's by their day."""

from datetime import datetime, timedelta

from core import local_days
from testbank import behaviours, book, days, voids
from testbank.garanti import answers, codes, lines, messages
from testbank.garanti.answers import GATEWAY, Told, Tree
from testbank.garanti.messages import Message
from testbank.garanti.terminals import GarantiTerminal
from testbank.models import Authorization, GarantiLine, Refund
from testbank.protocols.fields import NUMBERS
from testbank.protocols.lines import known
from testbank.states import RefundState, State, TransactionKind

SALES, PREAUTH, POSTAUTH, VOID, REFUND = TransactionKind
DONE, NOT_DONE = "00", "01"
LINES = 50
# The last minute of a list is whole.
A_MINUTE = timedelta(minutes=1)
# The list's own names, in Turkish without accents.
TYPES = {
    SALES: "Satis",
    PREAUTH: "On Otorizasyon",
    POSTAUTH: "On Otorizasyon Kapama",
    REFUND: "Iade",
    VOID: "Iptal",
}
CURRENCIES = {"try": "TL", "usd": "USD", "eur": "EUR", "gbp": "GBP"}


def status(found: list[GarantiLine], terminal: GarantiTerminal) -> Told:
    """Return an order's payment as it stands; its history has voids and refunds."""
    paying = [line for line in found if line.kind in lines.PAYMENTS]
    if not paying:
        return answers.refusal(codes.NO_TRANSACTION, [("OrderInqResult", _empty())])
    if _are_undecided(found):
        return answers.in_doubt(codes.IN_PROGRESS)
    line, paid = paying[-1], paying[-1].authorization
    last = lines.last_done(found, paid) or line
    host_ref, auth_code = (
        (last.host_ref, paid.authorization_code) if terminal.repeats_sale else ("", "")
    )
    return Told(
        GATEWAY, codes.APPROVED, codes.APPROVED, host_ref=host_ref, auth_code=auth_code,
        masked="null", result=[("OrderInqResult", _order(line, last))],
    )  # fmt: skip


def history(found: list[GarantiLine], terminal: GarantiTerminal) -> Told:
    """Return all transactions of an order, the oldest first."""
    if not found:
        return answers.refusal(codes.NO_ORDER)
    if _are_undecided(found):
        return answers.in_doubt(codes.IN_PROGRESS)
    told = [
        ("OrderTxn", _transaction(line, found))
        for line in found
        if terminal.lists_voids or line.kind != VOID
    ]
    result: Tree = [("OrderHistInqResult", [("OrderTxnList", told)])]
    return Told(GATEWAY, codes.APPROVED, codes.APPROVED, result=result)


def page(message: Message) -> Told:
    """Return a page of a terminal's transactions, the newest first."""
    first, last = (_moment(moment) for moment in messages.span(message.values))
    own = GarantiLine.objects.filter(
        client_id=message.terminal.terminal_id,
        created_at__gte=first,
        created_at__lt=last + A_MINUTE,
    )
    rows = known(own)
    number, count = int(message.values["ListPageNum"]), rows.count()
    start = (number - 1) * LINES
    newest_first = rows.select_related("authorization", "refund").order_by("-created_at", "-pk")
    listed = [
        ("OrderTxn", _listed(line)) for line in _decided(list(newest_first[start : start + LINES]))
    ]
    counts = [
        ("TotalTxnCount", str(count)),
        ("TotalPageCount", str(-(-count // LINES))),
        ("ActPageNum", str(number)),
    ]
    result: Tree = [("OrderListInqResult", [("OrderTxnList", [*counts, *listed])])]
    return Told(GATEWAY, codes.APPROVED, codes.APPROVED, result=result)


def _are_undecided(found: list[GarantiLine]) -> bool:
    """Return whether anything about an order has not ended: the protocol cannot say that of one."""
    return any(
        line.authorization.state == State.PENDING
        or (line.refund is not None and line.refund.state == RefundState.PENDING)
        for line in found
    )


def _decided(found: list[GarantiLine]) -> list[GarantiLine]:
    """Return those that have ended, with their payments up to date."""
    # In one order, so that two lists that meet here wait and do not lock each other out.
    references = sorted({line.authorization.reference for line in found})
    paid = {reference: book.locked(reference) for reference in references}
    refunds = Refund.objects.in_bulk([line.refund_id for line in found if line.refund_id])
    for line in found:
        line.authorization = paid[line.authorization.reference]  # type: ignore[assignment]
        line.refund = refunds[line.refund_id] if line.refund_id else None
    return [line for line in found if not _are_undecided([line])]


def _empty() -> Tree:
    amounts = dict.fromkeys(("AuthAmount", "PreAuthAmount", "InstallmentCnt"), "0")
    return [(name, amounts.get(name, "")) for name, _text in _columns("", *[""] * 10)]


def _order(line: GarantiLine, last: GarantiLine) -> Tree:
    paid = line.authorization
    is_held = line.kind == PREAUTH and not paid.captured_amount
    names = {True: "WAITINGPOSTAUTH" if is_held else "APPROVED", False: "DECLINED"}
    auth, preauth = _amounts(last)
    return _columns(
        names[lines.is_done(line)],
        _code(line),
        auth,
        str(paid.amount) if line.kind == PREAUTH else preauth,
        paid.authorization_code,
        last.host_ref,
        "" if paid.installments == 1 else str(paid.installments),
        answers.moment(last.created_at) if last.kind != PREAUTH else "",
        answers.moment(line.created_at) if line.kind == PREAUTH else "",
        "S",
        "null",
    )


def _columns(*values: str) -> list[tuple[str, str]]:
    names = (
        "Status", "Code", "AuthAmount", "PreAuthAmount", "AuthCode", "RetrefNum", "InstallmentCnt",
        "AuthDate", "PreAuthDate", "ChargeType", "CardNumberMasked",
    )  # fmt: skip
    told = list(zip(names, values, strict=True))
    return [*told[:2], ("ReasonCode", values[1]), *told[2:]]


def _transaction(line: GarantiLine, found: list[GarantiLine]) -> Tree:
    auth, preauth = _amounts(line)
    paid = line.authorization
    is_voided = paid.state == State.VOIDED and lines.last_done(found, paid) == line
    is_settled = line.kind in lines.TAKING and voids.is_settled(paid)
    day = _day(line.created_at)
    return [
        ("Type", str(line.kind)),
        ("Status", DONE if _code(line) == behaviours.APPROVED else NOT_DONE),
        ("ReturnCode", _code(line)),
        ("PreAuthAmount", preauth),
        ("AuthAmount", auth),
        ("PreAuthDate", day if line.kind == PREAUTH else ""),
        ("AuthDate", "" if line.kind == PREAUTH else day),
        ("VoidDate", _day(paid.voided_at) if is_voided and paid.voided_at else ""),
        ("RetrefNum", line.host_ref),
        ("AuthCode", _auth_code(line)),
        ("CurrencyCode", NUMBERS[paid.currency]),
        ("Settlement", "Y" if is_settled else "N"),
    ]


def _listed(line: GarantiLine) -> Tree:
    auth, preauth = _amounts(line)
    paid = line.authorization
    return [
        ("OrderID", line.order_id),
        ("LastTrxDate", answers.moment(line.created_at)),
        ("Type", TYPES[TransactionKind(line.kind)]),
        ("Status", _listed_status(line, paid)),
        ("PreAuthAmount", preauth),
        ("AuthAmount", auth),
        ("InstallmentCnt", "Pesin" if paid.installments == 1 else str(paid.installments)),
        ("CurrencyCode", CURRENCIES[paid.currency]),
        ("RetrefNum", line.host_ref),
        ("AuthCode", _auth_code(line)),
    ]


def _listed_status(line: GarantiLine, paid: Authorization) -> str:
    if _code(line) != behaviours.APPROVED:
        return "Basarisiz"
    if paid.state == State.VOIDED and line.kind not in (VOID, REFUND):
        return "Iptal"
    return "Onaylandi" if line.kind == PREAUTH else "Basarili"


def _amounts(line: GarantiLine) -> tuple[str, str]:
    """Return the amounts that were taken or given back, and held."""
    return ("0", str(line.amount)) if line.kind == PREAUTH else (str(line.amount), "0")


def _code(line: GarantiLine) -> str:
    """Return how a transaction ended, as this bank writes the code."""
    if line.refund is not None:
        # A refund that bounced was done at this bank; the protocol has no name for the rest.
        is_bounced = line.refund.state == RefundState.BOUNCED
        return behaviours.APPROVED if is_bounced else line.refund.response_code
    if line.kind in lines.PAYMENTS:
        code = line.authorization.response_code
        return behaviours.APPROVED if lines.is_done(line) else codes.WRITTEN_AS.get(code, code)
    return line.code


def _auth_code(line: GarantiLine) -> str:
    is_done = _code(line) == behaviours.APPROVED
    return line.authorization.authorization_code if is_done else ""


def _day(moment: datetime) -> str:
    return f"{local_days.shown(moment, days.ZONE):%Y%m%d}"


def _moment(wall_clock: datetime) -> datetime:
    """Return the moment that Istanbul's clocks show so."""
    return local_days.at(wall_clock.date(), wall_clock.time(), days.ZONE)
