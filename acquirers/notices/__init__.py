"""Notices: unasked news from banks, stored as they came and applied once each.

A poller asks the bank of each terminal for the notices behind the last one. Handlers, which
apps register by kind, apply them: this room knows neither disputes nor refunds.
"""
