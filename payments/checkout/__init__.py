"""Checkout sessions: the door to one payment for a payer who types the card on our page."""
