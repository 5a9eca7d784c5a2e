"""Payments at the bank: attempts and modifications, and what the bank's answers do to them."""
