"""The sections of the desk, in the order of its navigation."""

from panel.operators import search
from panel.operators.desk import Section

SECTIONS: tuple[Section, ...] = (search.SECTION,)
