"""Notices of the bank that pays out: stored as they come, then applied, each once."""
