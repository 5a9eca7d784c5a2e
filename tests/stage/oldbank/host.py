"""The old bank's host: what it does to an order, and the answer that it tells.

Nothing here is idempotent. A second payment under an order id is refused once the first has
succeeded and is written; while the first is in the air both pass.
"""

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from testbank import behaviours
from testbank.behaviours import Behaviour
from testbank.states import State
from tests.stage.oldbank import proofs, refunds
from tests.stage.oldbank.book import Book, Transaction
from tests.stage.oldbank.messages import CURRENCIES, Refused, minor
from tests.stage.oldbank.telling import Told, listed, told

HAS_SUCCEEDED, NOTHING_TO_CAPTURE, ABOVE = "E-3001", "E-3101", "E-3102"
NOTHING_TO_VOID, NUMBER_MISSING, NOT_THE_LAST = "E-3201", "E-3202", "E-3203"
NO_RECORD = "E-2400"
# The code of a no: as if an issuer had declined, which it has not.
DECLINED, TIMED_OUT = "05", "92"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
STATES = {
    State.AUTHORIZED: "A",
    State.DECLINED: "D",
    State.BLOCKED: "D",
    State.DEMANDED_AUTHENTICATION: "D",
    State.PENDING: "W",
}
REVERSED_AFTER_SECONDS = 60


@dataclass(slots=True)
class Host:
    """The bank's rules over its book.

    :param works_seconds: how long a change takes before it is written.
    :param goes_on: while it is not set, changes wait in the air.
    :param refunds_after_days: the ends of days before it refunds what was captured.
    """

    book: Book
    works_seconds: float = 0.0
    goes_on: threading.Event = field(default_factory=threading.Event)
    refunds_after_days: int = 0
    doors: dict[str, Callable[[dict[str, str]], Told]] = field(init=False)

    def __post_init__(self) -> None:
        self.goes_on.set()
        self.doors = {
            "Sale": self._pay,
            "PreAuth": self._pay,
            "Capture": self._capture,
            "Void": self._void,
            "Refund": self._refund,
            "RefundStatus": self._tell_refund,
            "Status": self._tell_last,
            "History": self._tell_all,
        }

    def ask(self, message: dict[str, str]) -> Told:
        """Do what a checked message asks for.

        :raises Refused: the bank does not even try.
        """
        return self.doors[message["Type"]](message)

    def charge_after_all(self, number: str, terminal: str, order_id: str, merchant: str) -> None:
        """Write a sale that no request is waiting for any more."""
        message = {"Terminal": terminal, "OrderId": order_id, "Merchant": merchant}
        self._write(message, "S", behaviours.of(number), amount=12500, currency="try")

    def reverse_later(self, terminal: str, order_id: str) -> None:
        """Reverse a payment by the bank itself, a minute from now."""
        paid = self.lines(terminal, order_id)[-1]
        at = self.book.now() + REVERSED_AFTER_SECONDS
        self.book.write(replace(paid, kind="V", state="T", trans_id=_number(), at=at))

    def lines(self, terminal: str, order_id: str) -> list[Transaction]:
        """Return what was done to an order until now; overdue ones are decided first."""
        with self.book.changing():
            return self._lines_now(terminal, order_id)

    def _lines_now(self, terminal: str, order_id: str) -> list[Transaction]:
        now = self.book.now()
        found = self.book.of(terminal, order_id)
        is_gone = refunds.is_all_gone(found)  # Then nothing is left to reverse.
        lines = [one if is_gone and one.state == "T" else self._decided(one, now) for one in found]
        lines = [one for one in lines if one.state != "T"]
        held = _held(lines)
        is_old = held and now >= held.at + _seconds(behaviours.LAPSES_AFTER)
        if held and is_old and not refunds.captures(lines):
            lapsed = replace(held, kind="L", trans_id=_number(), at=now)
            self.book.write(lapsed)
            lines.append(lapsed)
        return lines

    def _decided(self, one: Transaction, now: float) -> Transaction:
        if one.state == "T" and now >= one.at:
            return self.book.decide(one, state="A")
        decides = behaviours.BY_NAME[one.behaviour].decides
        is_due = now >= one.at + _seconds(behaviours.DECIDED_AFTER)
        if one.kind == "R" and one.state == "W" and is_due:
            state, code = refunds.end(one.behaviour)
            return self.book.decide(one, state=state, code=code)
        if one.state != "W" or decides is None or not is_due:
            return one
        is_yes = decides == State.AUTHORIZED
        code = behaviours.APPROVED if is_yes else behaviours.DO_NOT_HONOR
        return self.book.decide(
            one, state=STATES[decides], code=code, auth_code=_auth_code() if is_yes else ""
        )

    def _pay(self, message: dict[str, str]) -> Told:
        if any(one.kind in "SP" and one.state in "AW" for one in self._lines_of(message)):
            raise Refused(HAS_SUCCEEDED)
        behaviour = self._behaviour_towards(message)
        self._work()
        kind = "S" if message["Type"] == "Sale" else "P"
        paid = self._write(
            message,
            kind,
            behaviour,
            amount=minor(message["Amount"]),
            currency=CURRENCIES[message["Currency"]],
        )
        return told(paid, is_silent=behaviour.silent)

    def _behaviour_towards(self, message: dict[str, str]) -> Behaviour:
        if "Pan" in message:
            return behaviours.of(message["Pan"])
        return proofs.use_up(self.book, message)

    def _capture(self, message: dict[str, str]) -> Told:
        lines, amount = self._known(message), minor(message["Amount"])
        held = _held(lines)
        if held is None or held.kind != "P" or _captures(lines):
            raise Refused(NOTHING_TO_CAPTURE)
        if amount > held.amount or CURRENCIES[message["Currency"]] != held.currency:
            raise Refused(ABOVE)
        self._work()
        is_refused = behaviours.BY_NAME[held.behaviour].refuses_capture
        return told(self._modify(held, "C", amount, is_refused=is_refused))

    def _void(self, message: dict[str, str]) -> Told:
        lines = self._known(message)
        held = _held(lines)
        if held is None:
            raise Refused(NOTHING_TO_VOID)
        refunds.refuse_void(lines, self.book.now())
        live = [held, *_captures(lines)]
        if len(live) > 1 and "TransId" not in message:
            raise Refused(NUMBER_MISSING)
        if message.get("TransId", live[-1].trans_id) != live[-1].trans_id:
            raise Refused(NOT_THE_LAST)
        self._work()
        is_refused = behaviours.BY_NAME[held.behaviour].refuses_void
        return told(self._modify(held, "V", live[-1].amount, is_refused=is_refused))

    def _refund(self, message: dict[str, str]) -> Told:
        """Refund, each time that it is asked: the shop's name for a refund is no key."""
        self._known(message)
        self._work()
        with self.book.changing():
            lines = self._lines_now(message["Terminal"], message["OrderId"])
            held = _held(lines)
            refunds.refuse_early(lines, self.book.now(), after_days=self.refunds_after_days)
            amount = refunds.refundable(lines, held, message)
            assert held is not None
            state, code = refunds.beginning(held.behaviour)
            refund = replace(
                self._modified(held, "R", amount),
                state=state,
                code=code,
                refund_id=message["RefundId"],
            )
            self.book.write(refund)
        return told(refund)

    def _tell_refund(self, message: dict[str, str]) -> Told:
        """Tell of the refunds that have this name; of none, as of an order that is not there."""
        found = [one for one in self._known(message) if one.refund_id == message["RefundId"]]
        if not found:
            raise Refused(NO_RECORD)
        return listed(found)

    def _modify(
        self, held: Transaction, kind: str, amount: int, *, is_refused: bool
    ) -> Transaction:
        modified = replace(
            self._modified(held, kind, amount),
            state="D" if is_refused else "A",
            code=behaviours.SYSTEM_ERROR if is_refused else behaviours.APPROVED,
        )
        self.book.write(modified)
        return modified

    def _modified(self, held: Transaction, kind: str, amount: int) -> Transaction:
        numbers = {"host_ref": _host_ref(), "trans_id": _number()}
        return replace(held, kind=kind, amount=amount, at=self.book.now(), **numbers)

    def _tell_last(self, message: dict[str, str]) -> Told:
        """Tell of the last thing only: after a modification the payment is hidden."""
        *_hidden, last = self._known(message)
        shown = {"Kind": last.kind, "State": last.state, "Minor": str(last.amount)}
        return Told({**told(last).facts, "Result": "Approved", **shown})

    def _tell_all(self, message: dict[str, str]) -> Told:
        return listed(self._known(message))

    def _known(self, message: dict[str, str]) -> list[Transaction]:
        """Return the order's lines; one that the bank does not know is a decline to this bank.

        :raises Refused: there is no such order at this terminal.
        """
        lines = self._lines_of(message)
        if not lines:
            raise Refused(NO_RECORD)
        return lines

    def _lines_of(self, message: dict[str, str]) -> list[Transaction]:
        return self.lines(message["Terminal"], message["OrderId"])

    def _work(self) -> None:
        time.sleep(self.works_seconds)
        self.goes_on.wait()

    def _write(
        self,
        message: dict[str, str],
        kind: str,
        behaviour: Behaviour,
        *,
        amount: int,
        currency: str,
    ) -> Transaction:
        state = STATES[behaviour.state]
        written = Transaction(
            terminal=message["Terminal"],
            order_id=message["OrderId"],
            merchant=message["Merchant"],
            kind=kind,
            state=state,
            amount=amount,
            currency=currency,
            behaviour=behaviour.name,
            code=behaviour.response_code,
            auth_code=_auth_code() if state == "A" else "",
            host_ref=_host_ref(),
            trans_id=_number(),
            at=self.book.now(),
        )
        self.book.write(written)
        return written


def _held(lines: list[Transaction]) -> Transaction | None:
    """Return the approved payment that is neither voided nor lapsed."""
    if any(one.kind in "VL" and one.state == "A" for one in lines):
        return None
    approved = (one for one in reversed(lines) if one.kind in "SP" and one.state == "A")
    return next(approved, None)


def _captures(lines: list[Transaction]) -> list[Transaction]:
    return [one for one in lines if one.kind == "C" and one.state == "A"]


def _seconds(span: object) -> float:
    return span.total_seconds()  # type: ignore[attr-defined, no-any-return]


def _number() -> str:
    # Letters between the digits: no number of the bank's looks like a card's.
    return "".join(secrets.choice("0123456789") + secrets.choice(LETTERS) for _ in range(5))


def _auth_code() -> str:
    return _number()[:6]


def _host_ref() -> str:
    return f"{secrets.randbelow(10**12):012d}"
