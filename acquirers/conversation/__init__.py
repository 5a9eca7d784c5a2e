"""The conversation with banks: rows, leases, schedule, kinds, settling, and the sweeper.

Each request is a row that is committed before the bank is asked. The first process that learns
how it ended applies the answer (architecture 3a).
"""
