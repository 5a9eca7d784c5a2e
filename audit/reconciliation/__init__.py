"""Reconciliation: the settlement file of a bank against our books.

See docs/operate/reconciliation.md.
"""
