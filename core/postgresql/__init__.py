"""The database engine of every process: Django's for PostgreSQL.

`base` is the module that Django looks for: connections are looked at before they are used, and
where they are shared, waited for. `places` keeps some of them for those who only read. `waits`
proves that nothing else is waited for without end.
"""
