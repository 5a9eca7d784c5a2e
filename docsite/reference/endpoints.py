"""The operations of the API: their parameters, their answers, and what they refuse with."""

import re
from collections.abc import Iterator
from functools import cache

from docsite.reference import fields, markdown, openapi
from docsite.reference.openapi import Operation, Shape

# The written page has a short list of the addresses, which the whole one takes the place of.
LIST = re.compile(r"^\| \| \|\n\|---\|---\|\n(?:\|.*\n)+", re.MULTILINE)
# The query takes it too, and is described first.
EXPAND = "expand"


def page(written: str) -> str:
    """Return the page of all operations; those that answer several kinds of objects are on it.

    :param written: docs/reference/endpoints.md.
    :raises ValueError: it has no list of addresses to be replaced.
    """
    if len(LIST.findall(written)) != 1:
        raise ValueError("docs/reference/endpoints.md has no list of addresses.")
    rows = [
        (f"`{one.title}`", one.summary, f"[{_answered(one)}]({_place(one)})")
        for one in openapi.operations()
    ]
    table = markdown.table(("address", "does", "answers"), rows)
    others = [one for one in openapi.operations() if one.object_name is None]
    sections = [_section(one, level=3, above="../") for one in others]
    return "\n".join([LIST.sub(lambda _: table, written), "## Of several objects\n", *sections])


def _place(one: Operation) -> str:
    page = f"objects/{one.object_name}.md" if one.object_name else ""
    return f"{page}#{markdown.slug(one.title)}"


def _answered(one: Operation) -> str:
    if one.object_name is None:
        return "a list" if one.is_list else "an object"
    return f"a list of {one.object_name}" if one.is_list else one.object_name


def sections(object_name: str) -> Iterator[str]:
    """Yield the part of an object's page about the operations that answer it."""
    found = [one for one in openapi.operations() if one.object_name == object_name]
    if found:
        yield "## Endpoints\n"
    for one in found:
        yield _section(one, level=3, above="../../")


def _section(one: Operation, *, level: int, above: str) -> str:
    described = f" {one.description}" if one.description else ""
    answer = f"Answers {'a list of ' if one.is_list else ''}`{one.object_name}`." * bool(
        one.object_name
    )
    return "\n".join(
        [
            markdown.heading(level, one.title, anchor=one.name),
            f"{one.summary}.{described} {answer}\n",
            *_parameters(one),
            *_example(one),
            _refusals(one, above),
            *_refused(one),
        ]
    )


def _parameters(one: Operation) -> Iterator[str]:
    rows = [*_in_address(one), *in_body(one)]
    if not rows:
        return
    yield markdown.table(
        ("parameter", "type", "meaning"),
        [
            (f"`{name}`", kind + (", required" if is_needed else ""), meaning)
            for name, kind, is_needed, meaning in rows
        ],
    )


Row = tuple[str, str, bool, str]


def _in_address(one: Operation) -> Iterator[Row]:
    """Yield the parameters of the path and of the query; headers have their own page."""
    for parameter in one.parameters:
        if parameter["in"] == "header":
            continue
        shape: Shape = {**openapi.merged(parameter["schema"])}
        if "description" in parameter:
            shape["description"] = parameter["description"]
        field = fields.Field(parameter["name"], shape, parameter.get("required", False))
        yield field.path, field.type, field.is_required, field.description


def in_body(one: Operation) -> list[Row]:
    """Return the parameters of the body, nested ones in brackets."""
    return [
        (field.path, field.type, field.is_required, field.description)
        for shape in one.bodies
        for field in fields.of(shape, fields.bracketed)
        if field.path != EXPAND
    ]


def _example(one: Operation) -> Iterator[str]:
    if example := one.request_example:
        yield markdown.json_block(example)


@cache
def codes_of_all() -> frozenset[str]:
    """Return the codes that every operation with a key may refuse with."""
    with_key = [one.codes for one in openapi.operations() if one.codes]
    return frozenset.intersection(*with_key)


@cache
def codes_of_posts() -> frozenset[str]:
    """Return the codes that every POST may refuse with."""
    return frozenset.intersection(
        *(one.codes for one in openapi.operations() if one.method == "POST")
    )


def _refused(one: Operation) -> Iterator[str]:
    """Yield an example of a refusal: of a code of its own if there is one, and the shortest."""
    common = codes_of_posts() if one.method == "POST" else codes_of_all()
    own = {code: body for code, body in one.refusals.items() if code not in common}
    if found := own or one.refusals:
        yield markdown.json_block(min(found.values(), key=lambda body: len(str(body))))


def _refusals(one: Operation, above: str) -> str:
    if not one.codes:
        return "Needs no key.\n"
    is_post = one.method == "POST"
    common = codes_of_posts() if is_post else codes_of_all()
    own = [f"[`{code}`]({above}errors.md#{code})" for code in sorted(one.codes - common)]
    kind = "POST" if is_post else "request"
    every = f"the codes that [every {kind}]({above}errors.md#every-{kind.lower()}) has"
    return f"Refuses with {', '.join(own)}, and {every}.\n" if own else f"Refuses with {every}.\n"
