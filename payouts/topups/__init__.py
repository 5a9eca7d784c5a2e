"""Topups: money that the merchant sends by a bank transfer, to be available."""
