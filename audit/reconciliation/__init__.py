"""Reconciliation: the settlement file of a bank beside our books (docs/reconciliation.md)."""
