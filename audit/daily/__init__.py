"""The daily runs: settlement, payouts by schedule, reconciliation, audit.

See docs/operate/daily-runs.md.
"""
