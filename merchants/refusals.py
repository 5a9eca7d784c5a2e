"""The refusal of a change to a merchant, which no client of the API asks for."""


class ChangeRefused(ValueError):
    """The change cannot be made; the text says why, to the person at the desk or the terminal."""
