"""Statements of the balance: a row for each month that is over, and one of the month that runs."""
