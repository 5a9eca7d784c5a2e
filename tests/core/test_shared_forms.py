"""One object of a form serves all threads: no request sees or leaves anything of another in it."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

from rest_framework.fields import Field

from core.rest import forms
from core.rest.fields import Amount, Metadata, Text
from core.rest.forms import Form, Refused

MEETING = Barrier(2, timeout=30)


class Held(Text):
    """A text that waits until another request is inside the same form."""

    def to_internal_value(self, data: Any) -> str | None:
        MEETING.wait()
        text = super().to_internal_value(data)
        MEETING.wait()
        return text


class InnerForm(Form):
    name = Held(max_length=20)
    amount = Amount()


class OuterForm(Form):
    first = Text(max_length=20)
    inner = InnerForm()
    metadata = Metadata(required=False)

    def validate(self, asked: dict[str, Any]) -> dict[str, Any]:
        MEETING.wait()
        return asked


def body(name: str, amount: int, **more: Any) -> dict[str, Any]:
    return {"first": name, "inner": {"name": name, "amount": amount}, **more}


def outcome(asked: dict[str, Any]) -> Any:
    try:
        return OuterForm.read(asked)
    except Refused as problem:
        # One that is refused in a field does not come to the third meeting.
        MEETING.wait()
        return problem.code, problem.param


def together(*bodies: dict[str, Any]) -> list[Any]:
    with ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(outcome, bodies))


def values_in(place: Any, seen: set[int]) -> Iterator[Any]:
    """Go through everything that can be reached from a form."""
    if id(place) in seen:
        return
    seen.add(id(place))
    yield place
    inner: list[Any] = []
    if isinstance(place, dict):
        inner = [*place.keys(), *place.values()]
    elif isinstance(place, list | tuple | set):
        inner = list(place)
    elif isinstance(place, Field):
        inner = list(vars(place).values())
    elif hasattr(place, "fields"):
        inner = [place.fields]
    for one in inner:
        yield from values_in(one, seen)


def test_two_requests_inside_one_form_each_get_their_own() -> None:
    ayse, bora = body("Ayşe", 1, metadata={"of": "Ayşe"}), body("Bora", 2)

    found = together(ayse, bora)

    assert found == [ayse, bora]


def test_the_refusal_of_one_is_not_the_others() -> None:
    found = together(body("Ayşe", 0), body("Bora", 2))

    assert found[0] == ("amount_too_small", "inner[amount]")
    assert found[1] == body("Bora", 2)


def test_nothing_of_a_request_stays_in_the_form() -> None:
    together(body("Ayşe", 0), body("Bora", 2))

    left = list(values_in(forms.form_of(OuterForm), set()))
    assert len(left) > 20
    assert not [one for one in left if one in ("Ayşe", "Bora")]


def test_there_is_one_form_of_a_class() -> None:
    assert forms.form_of(OuterForm) is forms.form_of(OuterForm)
    assert forms.form_of(OuterForm) is not forms.form_of(InnerForm)
