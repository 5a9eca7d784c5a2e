"""Placeholder until the real one lands."""


def scrub(value, name=None):
    return value
