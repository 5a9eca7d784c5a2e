"""Indexes: no id has a second one for LIKE, which each insert would pay for."""

import re

import pytest
from django.db import connection

pytestmark = pytest.mark.django_db

# Not ours to say, and addresses, which are compared as a language does.
WITH_A_SECOND_ONE = {
    "account_emailaddress",
    "account_emailconfirmation",
    "auth_group",
    "merchants_session",
    "merchants_user",
}


def test_no_id_is_indexed_a_second_time_for_like() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tablename, indexdef FROM pg_indexes WHERE schemaname = 'public'")
        indexes = cursor.fetchall()

    seconds = {table for table, definition in indexes if "pattern_ops" in definition}
    assert seconds <= WITH_A_SECOND_ONE | {"intents_paymentintent"}
    assert len(indexes) > 100


def test_the_first_one_finds_what_begins_so() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("EXPLAIN SELECT 1 FROM events_event WHERE id LIKE 'evt_0Vb%'")
        plan = "\n".join(line for (line,) in cursor.fetchall())

    assert re.search(r"Index Cond: .*>= 'evt'", plan), plan
