"""Payouts: the merchant's money, on its way to an account of the merchant's at a bank."""
