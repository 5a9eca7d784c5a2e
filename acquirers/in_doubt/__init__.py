"""Requests to banks whose end can be unknown: leases, inquiries, and the sweeper over all kinds.

Each request is a row that is committed before the bank is asked. The first process that learns
how it ended applies the answer (architecture 3a).
"""
