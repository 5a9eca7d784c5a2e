"""Charges of which a part goes back: its shares of surcharge and fee, and whose money is taken.

Source of the rules: contract-money, "Shares".
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from typing import NamedTuple

from ledger import accounts, balance, parts
from ledger.balance import Funds
from ledger.lines import Line
from ledger.models import Movement

OF_DISPUTES = (
    Movement.Kind.DISPUTE_OPENED,
    Movement.Kind.DISPUTE_WON,
    Movement.Kind.DISPUTE_LOST,
    Movement.Kind.DISPUTE_REGAINED,
)


class Shares(NamedTuple):
    """A part of a charge's card money, and the shares of surcharge and fee in it."""

    amount: int
    surcharge: int
    fee: int

    @property
    def merchants(self) -> int:
        """Return the merchant's own share."""
        return self.amount - self.surcharge - self.fee


@dataclass(frozen=True, slots=True)
class Charge:
    """A charge, and the sums of what has gone back of it; its merchant's account is locked.

    :param given_back: card money that went back and did not return: refunds, disputes.
    :param refunds_given: the part of it that refunds and voids gave back. The fee goes back by
        these alone: that of disputed money is kept, also when the rest is refunded later.
    :param surcharge_given: the share of the surcharge in it; `fee_given`: of the fee.
    :param unsettled: what is left of its parts, by date.
    :param funds: all that the merchant has in the charge's currency.
    """

    movement: Movement
    given_back: int
    refunds_given: int
    surcharge_given: int
    fee_given: int
    unsettled: Mapping[date, int]
    funds: Funds

    def shares_of(self, amount: int, *, with_fee: bool) -> Shares:
        """Return the shares in a part of the card money; of the fee if it goes back with it."""
        charge, back = self.movement, self.given_back + amount
        surcharge = self._share(amount, charge.surcharge, back, self.surcharge_given)
        if not with_fee:
            return Shares(amount, surcharge, 0)
        fee = self._share(amount, charge.fee, self.refunds_given + amount, self.fee_given)
        return Shares(amount, surcharge, fee)

    def _share(self, amount: int, whole: int, back: int, given: int) -> int:
        # A bank may dispute what was refunded before: then there is nothing left to share.
        return min(amount, max(0, share_of(self.movement, whole, back) - given))

    def taken_from_merchant(self, shares: Shares) -> list[Line]:
        """Return the lines that take the merchant's share, from the charge's own parts first."""
        return parts.take(shares.merchants, self.unsettled)

    def draft(
        self, kind: Movement.Kind, shares: Shares, *, cause_id: str, now: datetime
    ) -> Movement:
        """Return the draft of a movement by which a part of the charge goes back."""
        return Movement(
            merchant_id=self.movement.merchant_id,
            kind=kind,
            cause_id=cause_id,
            charge_id=self.movement.charge_id,
            currency=self.movement.currency,
            surcharge=-shares.surcharge,
            created_at=now,
        )


def share_of(charge: Movement, whole: int, back: int) -> int:
    """Return the share of a charge's surcharge or fee in so much card money, rounded down."""
    return whole * min(charge.card_money, back) // charge.card_money


def locked(merchant_id: str, charge_id: str) -> Charge:
    """Lock the merchant's account in the charge's currency, and return the charge as it is then.

    The caller has locked the payment: nothing else of this charge goes back meanwhile.
    """
    charge = _charged(merchant_id, charge_id)
    accounts.lock(merchant_id, charge.currency)
    since = _since(charge)
    return Charge(
        movement=charge,
        given_back=-sum(movement.card_money for movement in since),
        refunds_given=-sum(one.card_money for one in since if one.kind not in OF_DISPUTES),
        surcharge_given=-sum(movement.surcharge for movement in since),
        fee_given=-sum(movement.fee for movement in since),
        unsettled=parts.unsettled(charge),
        funds=balance.funds(merchant_id, charge.currency),
    )


def surcharge_left(last: Movement) -> int:
    """Return how much of its share of the surcharge a part leaves to others when it comes back.

    In minor units; below zero if it leaves more than it took. It is 0 unless more was given back
    than the card was debited with: then a part may have found too little left to share. What stays
    given back has its share by its sum, as if this part had never gone (docs/adr/0059).

    :param last: the part's last movement; the caller has locked the payment.
    """
    charge = _charged(last.merchant_id, last.charge_id)
    since = _since(charge)
    given_back = -sum(movement.card_money for movement in since)
    given = -sum(movement.surcharge for movement in since)
    took = _took(last, since)
    if given_back <= charge.card_money and not _left_before(since):
        return 0
    return share_of(charge, charge.surcharge, given_back + took.card_money) - given - took.surcharge


def _left_before(since: list[Movement]) -> int:
    """Return how much of their shares the parts that came back have left to others."""
    came_back = [movement for movement in since if movement.card_money > 0]
    return -sum(_took(back, since).surcharge + back.surcharge for back in came_back)


def _took(movement: Movement, since: list[Movement]) -> Movement:
    """Return the movement that took the part: the first of those that this one follows."""
    by_id = {one.id: one for one in since}
    while movement.follows_id and not by_id[movement.follows_id].is_released:
        movement = by_id[movement.follows_id]
    return movement


def _charged(merchant_id: str, charge_id: str | None) -> Movement:
    movements = Movement.objects.filter(merchant_id=merchant_id, charge_id=charge_id)
    return movements.get(kind=Movement.Kind.CHARGE)


def _since(charge: Movement) -> list[Movement]:
    """Return all movements of a charge but its own."""
    of_it = Movement.objects.filter(merchant_id=charge.merchant_id, charge_id=charge.charge_id)
    return list(of_it.exclude(kind=Movement.Kind.CHARGE))
