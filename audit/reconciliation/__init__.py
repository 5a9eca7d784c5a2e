"""Reconciliation: the settlement file of a bank against our books (docs/reconciliation.md)."""
