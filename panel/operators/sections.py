"""The sections of the desk, in the order of its navigation."""

from panel.operators import (
    audit,
    bins,
    cases,
    lists,
    merchants,
    people,
    review,
    rights,
    search,
    terminals,
    work,
)
from panel.operators.desk import Section

SECTIONS: tuple[Section, ...] = (
    work.SECTION,
    search.SECTION,
    cases.SECTION,
    review.SECTION,
    merchants.SECTION,
    terminals.SECTION,
    bins.SECTION,
    lists.SECTION,
    people.SECTION,
    rights.SECTION,
    audit.SECTION,
)
