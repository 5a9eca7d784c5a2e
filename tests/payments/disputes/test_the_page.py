"""The examples of docs/how-to/disputes.md work as written; its tables are the code's."""

import json
import re

import pytest
from django.conf import settings

from payments.disputes.evidence import KEYS, LONGEST
from payments.disputes.states import DisputeStatus, Reason
from tests.stage.complaints import PATH, Complaint

PAGE = (settings.BASE_DIR / "docs" / "how-to" / "disputes.md").read_text()
ANSWER = re.compile(r"curl \S+/v1/disputes/dp_… \\\n.*?-d '(\{.*?\})'", re.DOTALL)
LIST = re.compile(r"curl -g '\S+?(/v1/disputes\?\S+)'")


@pytest.mark.django_db(databases=["default", "bank"])
def test_the_answer_that_is_shown_can_be_given(complaint: Complaint) -> None:
    [body] = ANSWER.findall(PAGE)

    complaint.opened().post("", json.loads(body))

    assert complaint.answered["status"] == "under_review"


@pytest.mark.django_db(databases=["default", "bank"])
def test_the_list_that_is_shown_can_be_read(complaint: Complaint) -> None:
    [path] = LIST.findall(PAGE)
    complaint.opened()

    assert path.startswith(PATH)
    assert [row["id"] for row in complaint.shop.get(path)["data"]] == [complaint.id]


def test_the_page_names_every_key_reason_and_status() -> None:
    assert [word for word in (*KEYS, *Reason, *DisputeStatus) if word not in PAGE] == []
    assert f"{LONGEST:,} characters" in PAGE
