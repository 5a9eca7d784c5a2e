"""Checkout sessions as a state machine: payers press while shops, banks, clocks and jobs go on.

Each example is a world of its own, undone at its end. It ends at rest: the bank is honest, the jobs
have run, the time of every session is over, and sessions, payments and all books agree.
"""

from collections import Counter
from contextlib import ExitStack
from datetime import timedelta
from typing import Any, NamedTuple

from django.conf import settings
from django.db.models import QuerySet
from django.test import override_settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from core import clock, context, money
from events.models import Event
from payments.checkout import following, held_cards, tasks
from payments.checkout.models import CheckoutSession
from payments.checkout.visits import Visit
from payments.intents.models import Attempt, PaymentIntent
from tests.stage.audited import assert_audit_is_clean
from tests.stage.bank_transport import bank_in_process
from tests.stage.checkouts import SESSIONS, of_amount
from tests.stage.client import Answer
from tests.stage.factories import DECLINED_CARD, GOOD_CARD, SILENT_CARD, confirmation
from tests.stage.faulty_bank import FAULTS, FaultyBank
from tests.stage.money_machine import DATABASES, undone, which
from tests.stage.money_world import BOUNDARIES, LATE, PRICES, SPANS, World, pick
from tests.stage.payment_pages import Payer, Shown
from tests.stage.plans import BONUS, agree, plan
from tests.stage.stories import assert_charged_at_most_once, assert_one_event_per_change
from tests.stage.sweeper import Died, dies, on_one_thread_each
from tests.stage.threeds import bring, decide

AMOUNTS = (12_500, 99_900, 4_321)
ASKS = "4000002760003184"
CARDS = (GOOD_CARD, GOOD_CARD, ASKS, BONUS, DECLINED_CARD, SILENT_CARD, LATE, "4242")
# Where the process of a press dies: the function that is not reached, or is reached last.
DEATHS: dict[str, tuple[Any, str, bool]] = {
    "try counted": (held_cards, "use", True),
    **{name: BOUNDARIES[name] for name in ("row committed", "bank answered", "settled")},
    "session ends": (following, "_end", True),
    "before the answer": (Visit, "see", False),
}
MADE = ("amount", "amount", "manual", "3-D Secure", "given")
SHOPS = ("expire", "cancel", "amount", "confirm", "session", "capture")
ANSWERED = (200, 203, 303, 400, 409, 410, 429, 503)
# Each of them must have happened in every full proof, and a charge in every gate.
RULES = frozenset({
    "made: amount", "look", "another card", "charged", "captured", "returned", "declined", "held",
    "plans", "pressed again", "expired", "too_many_tries",
    "death: row committed", "death: before the answer",
})  # fmt: skip
PAID = ("payment_intent.succeeded", "payment_intent.amount_capturable_updated")


def in_status(status: str) -> QuerySet[PaymentIntent]:
    """Return the payments that are in a status, oldest first."""
    return PaymentIntent.objects.filter(status=status).order_by("created_at")


class Form(NamedTuple):
    """A form that a payer has before them."""

    session_id: str
    shown: Shown


class Checkouts(RuleBasedStateMachine):
    """One merchant, its sessions, and payers with forms, new and old."""

    fired: Counter[str] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.stack = ExitStack()
        for name in DATABASES:
            self.stack.enter_context(undone(name))
        self.bank = FaultyBank()
        self.stack.enter_context(bank_in_process(self.bank))
        self.stack.enter_context(on_one_thread_each())
        # The network of these payers is one: its failures are another proof's.
        self.stack.enter_context(override_settings(CHECKOUT_FAILURES_PER_MINUTE=100_000))
        self.world = World(self.bank)
        self.shop, self.payer = self.world.shop, Payer()
        self.addresses: dict[str, str] = {}
        self.forms: list[Form] = []
        self.pressed: set[str] = set()
        self.returns: list[dict[str, str]] = []
        self.decided: set[str] = set()

    @initialize()
    def begin(self) -> None:
        self.world.open(negative_limit=0, parts=1)
        self.world.agree(PRICES[0])
        agree(self.shop.merchant, plan(2), plan(3, 275))
        self.make(AMOUNTS[0], "amount", 1)

    def teardown(self) -> None:
        with self.stack:
            self.come_to_rest()
            for session in CheckoutSession.objects.select_related("intent"):
                self.assert_whole(session)
            assert_audit_is_clean()
            reasons = CheckoutSession.objects.values_list("expiration_reason", flat=True)
            self.fired.update(reason for reason in reasons if reason == "too_many_tries")

    # --- The shop -------------------------------------------------------------------------------

    @rule(amount=st.sampled_from(AMOUNTS), how=st.sampled_from(MADE), days=st.integers(1, 3))
    def make(self, amount: int, how: str, days: int) -> None:
        terms: dict[str, Any] = of_amount(amount)
        if how == "given":
            terms = {"payment_intent": self.shop.post("/v1/payment_intents", terms)["id"]}
        elif how == "manual":
            terms["payment_intent_data"] = {"capture_method": "manual"}
        elif how == "3-D Secure":
            terms["payment_method_options"] = {"card": {"three_d_secure": "required"}}
        ends_at = clock.now() + timedelta(days=days)
        self.keep(self.shop.post(SESSIONS, {**terms, "expires_at": int(ends_at.timestamp())}))
        self.note(f"made: {how}")

    def keep(self, made: Answer) -> None:
        assert made.status == 200, made.body
        self.addresses[made["id"]] = made["url"]
        self.look(-1, another=False)

    @rule(number=which, how=st.sampled_from(SHOPS), amount=st.sampled_from(AMOUNTS))
    def shop_acts(self, number: int, how: str, amount: int) -> None:
        """Let the merchant's server ask for something by the API; it may be refused."""
        session = self.session_of(number)
        payment = f"/v1/payment_intents/{session.intent_id}"
        path, body = {
            "expire": (f"{SESSIONS}/{session.id}/expire", {}),
            "cancel": (f"{payment}/cancel", {}),
            "amount": (payment, {"amount": amount}),
            "confirm": (f"{payment}/confirm", confirmation()),
            "session": (SESSIONS, {"payment_intent": session.intent_id}),
            "capture": (f"{payment}/capture", {}),
        }[how]
        answer = self.shop.post(path, body)
        assert answer.status in (200, 400, 409, 503), answer.body
        self.note(f"shop: {how}", answer.status == 200)
        self.note("captured", how == "capture" and answer.status == 200)
        if how == "session" and answer.status == 200:
            self.keep(answer)

    @rule(number=which)
    def capture(self, number: int) -> None:
        """Capture a payment that a session's page has authorised."""
        intent = pick(in_status("requires_capture"), number)
        if intent is not None:
            answer = self.shop.post(f"/v1/payment_intents/{intent.id}/capture")
            assert answer.status in (200, 400, 409, 503), answer.body
            self.note("captured", answer.status == 200)

    # --- The payer ------------------------------------------------------------------------------

    @rule(number=which, another=st.booleans())
    def look(self, number: int, another: bool) -> None:
        session = self.session_of(number)
        address = self.addresses[session.id] + ("/card" if another else "")
        page = self.payer.follow(self.payer.open(address))
        self.take_up(session.id, page)
        self.note("another card" if another else "look")

    @rule(
        number=which,
        card=st.sampled_from(CARDS),
        email=st.sampled_from(("ayse@example.com", "ayse@example.com", "wrong")),
        count=st.sampled_from("1123"),
        dies_at=st.sampled_from((None, None, None, *DEATHS)),
    )
    def press(self, number: int, card: str, email: str, count: str, dies_at: str | None) -> None:
        """Press one of the forms, new or old, and judge what was charged for it."""
        if not self.forms:
            return
        form = self.forms[-1 - number % len(self.forms)]
        session = CheckoutSession.objects.select_related("intent").get(id=form.session_id)
        known = set(session.intent.attempts.values_list("id", flat=True))
        try:
            if dies_at is None:
                self.press_and_follow(form, card, email, count)
            else:
                module, name, afterwards = DEATHS[dies_at]
                with dies(module, name, afterwards=afterwards):
                    self.press_and_follow(form, card, email, count)
        except Died:
            self.note(f"death: {dies_at}")
            context.end()
        self.note("pressed again", form.shown.inputs["form"] in self.pressed)
        self.pressed.add(form.shown.inputs["form"])
        made = session.intent.attempts.exclude(id__in=known)
        assert made.count() <= 2, "one, and after a soft decline one more with 3-D Secure"
        for attempt in made:
            self.assert_agreed(attempt, form, count, session)

    def press_and_follow(self, form: Form, card: str, email: str, count: str) -> None:
        answer = self.payer.press(
            form.shown, number=card, email=email, cvc="123", installments=count
        )
        assert answer.status in ANSWERED, answer.text
        is_at_the_bank = "/3ds/" in answer.headers.get("Location", "")
        page = answer if is_at_the_bank else self.payer.follow(answer)
        assert page.status in ANSWERED, page.text
        self.note("held", answer.status == 400 and "••••" in page.text)
        self.note("plans", "One payment" in page.text)
        self.note("charged", "Payment complete" in page.text)
        self.note("declined", "did not accept this payment" in page.text)
        self.take_up(form.session_id, page)

    def take_up(self, session_id: str, page: Shown) -> None:
        if "form" in page.inputs:
            self.forms.append(Form(session_id, page))

    def assert_agreed(
        self, attempt: Attempt, form: Form, count: str, before: CheckoutSession
    ) -> None:
        """Assert that an attempt is of what its payer's page has shown, on an open session."""
        whole = money.written(attempt.amount + attempt.surcharge, attempt.currency)
        assert whole in form.shown.text, (whole, form.shown.text)
        if "installments" in form.shown.inputs and "One payment" in form.shown.text:
            assert attempt.installments == int(count), (attempt.installments, count)
        assert before.status == "open", f"an attempt on a session that is {before.status}"
        assert before.expires_at > attempt.created_at, "an attempt after the session's time"

    @rule(number=which, card=st.sampled_from((GOOD_CARD, ASKS)))
    def pay(self, number: int, card: str) -> None:
        """Open a session's page and pay, without a mistake."""
        self.look(number, another=False)
        self.press(0, card, "ayse@example.com", "1", None)

    @rule(
        amount=st.sampled_from(AMOUNTS),
        how=st.sampled_from(MADE),
        card=st.sampled_from((GOOD_CARD, ASKS)),
        button=st.sampled_from(("Approve", "Approve", "Reject")),
    )
    def go_the_whole_way(self, amount: int, how: str, card: str, button: str) -> None:
        """Make a session, pay, return from the bank and capture: drawn steps rarely come so far."""
        self.make(amount, how, 1)
        self.pay(-1, card)
        self.authenticate(-1, button)
        self.capture(-1)

    @rule(number=which)
    def press_until_no_try_is_left(self, number: int) -> None:
        """Press with a card that its bank declines, as often as a session allows."""
        self.look(number, another=False)
        for _ in range(settings.CHECKOUT_TRIES_MAX):
            self.press(0, DECLINED_CARD, "ayse@example.com", "1", None)

    @rule(number=which, button=st.sampled_from(("Approve", "Approve", "Reject")))
    def authenticate(self, number: int, button: str) -> None:
        intent = pick(in_status("requires_action"), number)
        if intent is None:
            return
        payment = self.shop.payment(intent.id)
        at_the_bank = payment["next_action"]["redirect_to_url"]["url"]
        # The bank shows its buttons once; an answer that was lost on its way is brought again.
        if at_the_bank not in self.decided:
            self.decided.add(at_the_bank)
            self.returns.append(decide(payment, button).fields)
        self.come_back(-1)
        self.note("returned", in_status("requires_action").filter(id=intent.id).count() == 0)

    @rule(number=which)
    def come_back(self, number: int) -> None:
        """Bring an answer of the bank, perhaps once more, or later than it counts."""
        if self.returns:
            arrived = bring(self.returns[-1 - number % len(self.returns)])
            assert arrived.status in (200, 302, 303, 400, 404, 410, 503), arrived
            self.note("returned again")

    # --- Bank, jobs, time -----------------------------------------------------------------------

    @rule(faults=st.lists(st.sampled_from(FAULTS), min_size=1, max_size=2))
    def break_the_way(self, faults: list[str]) -> None:
        self.bank.faults = faults

    @rule(how=st.sampled_from(("seconds", "seconds", "a minute", "hours", "days")))
    def time_passes(self, how: str) -> None:
        clock.advance(SPANS[how])
        if how != "seconds":
            self.bank.lost.clear()

    @rule(dead=st.booleans())
    def work(self, dead: bool) -> None:
        """Run the jobs; what has died may be known to be dead by now."""
        if dead:
            self.world.leases_run_out()
        self.world.work("sweep")
        was_open = CheckoutSession.objects.filter(status="open").count()
        tasks.expire_due()
        tasks.destroy_held_cards()
        now_open = CheckoutSession.objects.filter(status="open").count()
        self.note("expired", now_open < was_open)

    # --- The end --------------------------------------------------------------------------------

    def come_to_rest(self) -> None:
        self.world.come_to_rest()
        clock.advance(timedelta(days=31))
        self.world.come_to_rest()
        tasks.expire_due()
        tasks.destroy_held_cards()
        assert not CheckoutSession.objects.filter(status="open").exists()
        assert not CheckoutSession.objects.exclude(held_card=None).exists()

    def assert_whole(self, session: CheckoutSession) -> None:
        """Assert that a session ended once, as its payment did."""
        events = list(self.events_of(session.id))
        assert [sequence for sequence, _type, _at in events] == [1], events
        ended = "completed" if session.status == "complete" else "expired"
        assert events[0][1] == f"checkout.session.{ended}"
        assert_charged_at_most_once(session.intent_id)
        assert_one_event_per_change(session.intent_id)
        paid = [event for event in self.events_of(session.intent_id) if event[1] in PAID]
        # Of two sessions of one payment, one after the other, the open one was completed.
        others = CheckoutSession.objects.filter(intent=session.intent_id, status="complete")
        if session.status == "complete":
            assert paid, "complete, and never paid"
            assert others.count() == 1
        elif paid and not others.exists():
            assert session.ended_at is not None
            assert session.ended_at <= paid[0][2], "paid while it was open, and not complete"

    def events_of(self, object_id: str) -> Any:
        rows = Event.objects.filter(aggregate_id=object_id).order_by("sequence")
        return rows.values_list("sequence", "type", "created_at")

    # --- Words ----------------------------------------------------------------------------------

    def session_of(self, number: int) -> CheckoutSession:
        ids = list(self.addresses)
        return CheckoutSession.objects.get(id=ids[number % len(ids)])

    def note(self, kind: str, happened: bool = True) -> None:
        if happened:
            self.fired[kind] += 1
