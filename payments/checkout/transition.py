"""The session's door to its end, always together with its event."""

from events.transitions import Door
from payments.checkout import render
from payments.checkout.states import SESSIONS

DOOR = Door(SESSIONS, render.session)
