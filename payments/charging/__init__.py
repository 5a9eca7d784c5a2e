"""Use cases of payments: create, confirm, capture, cancel; their risk, their API, their jobs."""
