"""The sections of the desk, in the order of its navigation."""

from panel.operators import audit, bins, lists, merchants, people, review, search
from panel.operators.desk import Section

SECTIONS: tuple[Section, ...] = (
    search.SECTION,
    review.SECTION,
    merchants.SECTION,
    bins.SECTION,
    lists.SECTION,
    people.SECTION,
    audit.SECTION,
)
