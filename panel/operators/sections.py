"""The sections of the desk, in the order of its navigation."""

from panel.operators import audit, bins, cases, lists, merchants, people, review, rights, search
from panel.operators.desk import Section

SECTIONS: tuple[Section, ...] = (
    search.SECTION,
    cases.SECTION,
    review.SECTION,
    merchants.SECTION,
    bins.SECTION,
    lists.SECTION,
    people.SECTION,
    rights.SECTION,
    audit.SECTION,
)
