"""The sections of the desk, in the order of its navigation."""

from panel.operators import audit, bins, cases, lists, merchants, people, review, search
from panel.operators.desk import Section

SECTIONS: tuple[Section, ...] = (
    search.SECTION,
    cases.SECTION,
    review.SECTION,
    merchants.SECTION,
    bins.SECTION,
    lists.SECTION,
    people.SECTION,
    audit.SECTION,
)
