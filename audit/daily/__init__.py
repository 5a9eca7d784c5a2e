"""The daily runs: settlement, payouts by schedule, reconciliation, audit (docs/daily-runs.md)."""
