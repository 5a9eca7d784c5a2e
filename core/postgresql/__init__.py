"""Django's PostgreSQL backend, and what this service wants of every connection.

`base` is the module that Django looks for; `waits` proves that nothing is waited for without end.
"""
