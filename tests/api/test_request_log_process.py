"""Rows of the request log under a real gunicorn: after the answer, whatever the client does."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import connection, transaction

from merchants.models import RequestLog
from tests.stage.kills import until
from tests.stage.web_process import RawAnswer, WebProcess, request, whole

# The databases are made for the tests that are marked.
pytestmark = [pytest.mark.slow, pytest.mark.django_db(databases=["default", "bank"])]


def rows_of(*answers: RawAnswer) -> list[RequestLog]:
    """Return the answers' rows as soon as all are there."""
    rows = RequestLog.objects.filter(id__in=[answer.headers["Request-Id"] for answer in answers])
    until(lambda: rows.count() == len(answers))
    return list(rows.all())


@contextmanager
def no_rows_are_written() -> Iterator[None]:
    """Hold up every writer of the request log for the length of the block."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("LOCK TABLE merchants_requestlog IN EXCLUSIVE MODE")
        yield
        transaction.set_rollback(True)


def test_the_row_is_there_after_the_answer(web: WebProcess) -> None:
    refused = web.send(whole(web, b'{"nme": "x"}'))

    [row] = rows_of(refused)

    assert (row.status, row.error_code, row.ip) == (400, "parameter_unknown", "127.0.0.1")
    assert row.merchant_id == web.acme.merchant.id
    assert json.loads(row.response_body)["error"] == refused.error


def test_the_answer_does_not_wait_for_its_row(web: WebProcess) -> None:
    with no_rows_are_written():
        answer = web.send(whole(web, b"{}"))
        written_meanwhile = RequestLog.objects.filter(id=answer.headers["Request-Id"]).exists()

    assert answer.status == 200
    assert not written_meanwhile
    assert len(rows_of(answer)) == 1


@pytest.mark.proof(part="deliveries")
def test_a_row_that_cannot_be_written_costs_no_answer_and_no_connection(web: WebProcess) -> None:
    with no_rows_are_written(), web.connect() as wire, wire.makefile("rb") as file:
        wire.sendall(whole(web, b"{}") * 2)
        answers = [RawAnswer.next(file) for _ in range(2)]
        # Both are answered while no row can be written.
        until(lambda: web.log.count("request_log_not_written") == 2)

    assert [answer.status for answer in answers] == [200, 200]
    assert web.log.count("request_log_not_written") == 2
    assert len(rows_of(web.send(whole(web, b"{}")))) == 1


def test_every_request_of_one_connection_has_its_row(web: WebProcess) -> None:
    with web.connect() as wire, wire.makefile("rb") as file:
        wire.sendall(whole(web, b"{}") + whole(web, b"[]") + whole(web, b"{}".ljust(300_000)))
        answers = [RawAnswer.next(file) for _ in range(3)]

    assert {row.status for row in rows_of(*answers)} == {200, 400, 413}


def about(object_id: bytes, web: WebProcess, *headers: bytes) -> bytes:
    """Return a GET's head whose row can be found without its answer."""
    head = request(web, *headers, method=b"GET")
    return head.replace(b" /v1/customers HTTP", b" /v1/customers/" + object_id + b" HTTP")


def statuses_of(object_id: str) -> list[int]:
    rows = RequestLog.objects.filter(path=f"/v1/customers/{object_id}")
    until(rows.all().exists)
    return [row.status for row in rows.all()]


def test_a_client_that_hangs_up_has_its_row_too(web: WebProcess) -> None:
    with web.connect() as wire:
        wire.sendall(about(b"cus_hungup", web))

    # Nothing is begun for it, if it has left before.
    assert statuses_of("cus_hungup") in ([404], [503])


def test_a_request_whose_body_breaks_off_after_its_refusal_has_a_row(web: WebProcess) -> None:
    chunked = about(b"cus_broken", web, b"Transfer-Encoding: chunked")
    whole_chunk = b"%x\r\n%s\r\n" % (300_000, b" " * 300_000)

    web.send(chunked, whole_chunk + b"zz\r\n", then_close=True)

    assert statuses_of("cus_broken") == [404]
