"""The tags of the panel's templates: each draws one thing alike on every page."""

import json as json_text
from datetime import UTC, date, datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.forms import BoundField
from django.template.context import RequestContext
from django.templatetags.static import static
from django.utils import formats
from django.utils.formats import number_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext, ngettext

from core import clock, local_days
from core import money as amounts
from core.rest.lists import TOTAL_MAX, Page
from core.secrets_in_text import hide_hand_offs
from panel import statuses
from panel.merchants import listing

register = template.Library()
# The names of card brands, and the logos' files among Tabler's.
BRANDS = {
    "visa": ("Visa", "visa"), "mastercard": ("Mastercard", "mastercard"),
    "amex": ("American Express", "americanexpress"), "troy": ("Troy", "troy"),
    "discover": ("Discover", "discover"), "jcb": ("JCB", "jcb"),
    "diners": ("Diners Club", "dinersclub"), "unionpay": ("UnionPay", "unionpay"),
    "maestro": ("Maestro", "maestro"),
}  # fmt: skip

# Letters of an id's end that a list shows.
ID_END = 4
# By whether the order is from small to large.
SORTED = {False: ("↓", "descending"), True: ("↑", "ascending")}
# By the first digit of an HTTP status.
ANSWERS = {2: ("✓", "green"), 3: ("→", "azure"), 4: ("✕", "yellow"), 5: ("✕", "red")}


@register.simple_tag
def status(value: str) -> SafeString:
    """Draw a status: glyph, label and colour."""
    shown = statuses.badge(value)
    return format_html(
        '<span class="badge bg-{}-lt"><span aria-hidden="true">{}</span> {}</span>',
        shown.colour, shown.glyph, shown.word,
    )  # fmt: skip


@register.simple_tag
def answer_status(value: int | None) -> SafeString | str:
    """Draw the HTTP status of an answer: glyph, number and colour; a dash where there is none."""
    if value is None:
        return "–"
    glyph, colour = ANSWERS.get(value // 100, ("○", "secondary"))
    return format_html(
        '<span class="badge bg-{}-lt"><span aria-hidden="true">{}</span> {}</span>',
        colour, glyph, value,
    )  # fmt: skip


@register.simple_tag
def money(amount: int, currency: str) -> SafeString:
    """Draw an amount in minor units."""
    return format_html('<span class="amt">{}</span>', amounts.written(amount, currency))


@register.simple_tag
def change(amount: int, currency: str) -> SafeString | str:
    """Draw a change in minor units with its sign; a dash where nothing changed."""
    if not amount:
        return "–"
    sign = "+" if amount > 0 else "\N{MINUS SIGN}"
    return format_html(
        '<span class="amt">{}{}</span>', sign, amounts.written(abs(amount), currency)
    )


@register.filter
def percent(value: float) -> str:
    """Write a percentage as the page's language does: 12.5 %, or %12,5 in Turkish."""
    number = formats.number_format(abs(value), decimal_pos=1 if isinstance(value, float) else 0)
    return ("-" if value < 0 else "") + gettext("%(number)s %%") % {"number": number}


@register.filter
def grouped(number: int) -> str:
    """Write a count with its thousands parted, as the page's language does."""
    return formats.number_format(number, force_grouping=True)


@register.simple_tag
def card(brand: str | None, last4: str) -> SafeString:
    """Draw a card: its brand's logo and name, and its last four digits."""
    name, file = BRANDS.get(brand or "", (brand or "", ""))
    logo = format_html(
        '<img src="{}" alt="" width="28" height="18" loading="lazy"> ',
        static(f"vendor/tabler/payments/{file}.svg"),
    ) if file else ""  # fmt: skip
    return format_html('<span class="card-shown">{}{} •••• {}</span>', logo, name, last4)


@register.inclusion_tag("panel/tags/object_id.html")
def object_id(value: str, url: str = "") -> dict[str, str]:
    """Draw an id with a button that copies it.

    :param url: of the object's page, if it has one.
    """
    return {"value": value, "url": url, "shown": value}


@register.inclusion_tag("panel/tags/object_id.html")
def short_id(value: str, url: str = "") -> dict[str, str]:
    """Draw an id's kind and its end, `pi_…B4Rp`, with a button that copies the whole."""
    kind, underscore, rest = value.partition("_")
    shown = f"{kind}_…{rest[-4:]}" if underscore and len(rest) > ID_END else value
    return {"value": value, "url": url, "shown": shown}


@register.simple_tag(takes_context=True)
def sorted_head(
    context: RequestContext, key: str, label: str, first: str = "-"
) -> SafeString | str:
    """Draw the head of a column as a link that sorts the list by it, and turns the order round.

    :param key: of the list's sort keys.
    :param first: the order of the first press: `-` from large to small, nothing from small.
    """
    form = context["form"]
    now = form.given.get("sort") or form.spec.default_sort
    is_now = now.removeprefix("-") == key
    wanted = key if is_now and now != key else f"{'-' if is_now else first}{key}"
    query = listing.without(form.given, "sort")
    query["sort"] = wanted
    mark, sort = SORTED[now == key] if is_now else ("", "")
    return format_html(
        '<th scope="col"{}><a href="?{}">{}{}</a></th>',
        format_html(' aria-sort="{}"', sort) if sort else "",
        query.urlencode(),
        label,
        format_html(' <span aria-hidden="true">{}</span>', mark) if mark else "",
    )


@register.simple_tag(takes_context=True)
def moment(context: RequestContext, value: datetime | None) -> SafeString | str:
    """Draw an instant in the merchant's zone, with the same in UTC to be looked up."""
    return _instant(context, value, "j M Y H:i")


@register.simple_tag(takes_context=True)
def when(context: RequestContext, value: datetime | None) -> SafeString | str:
    """Draw an instant as a list's row has it: today's by its time, this year's without the year."""
    if value is None:
        return "–"
    zone = _zone(context)
    day, today = local_days.of(value, zone), local_days.of(clock.now(), zone)
    if day == today:
        time = formats.date_format(local_days.shown(value, zone), "H:i")
        return _timed(value, gettext("Today %(time)s") % {"time": time})
    return _instant(context, value, "j M H:i" if day.year == today.year else "j M Y H:i")


@register.simple_tag(takes_context=True)
def short_day(context: RequestContext, value: date) -> str:
    """Draw a day as a list's row has it: one of this year without the year."""
    today = local_days.of(clock.now(), _zone(context))
    return formats.date_format(value, "j M" if value.year == today.year else "j M Y")


@register.simple_tag(takes_context=True)
def second(context: RequestContext, value: datetime | None) -> SafeString | str:
    """Draw an instant as `moment` does, to the second."""
    return _instant(context, value, "j M Y H:i:s")


@register.simple_tag(takes_context=True)
def day(context: RequestContext, value: datetime | None) -> SafeString | str:
    """Draw the day of an instant in the merchant's zone, for what is meant as a day."""
    return _instant(context, value, "j M Y")


def _instant(context: RequestContext, value: datetime | None, form: str) -> SafeString | str:
    if value is None:
        return "–"
    return _timed(value, formats.date_format(local_days.shown(value, _zone(context)), form))


def _zone(context: RequestContext) -> str:
    frame = context.get("frame")
    return frame.zone if frame else "UTC"


def _timed(value: datetime, written: str) -> SafeString:
    utc = value.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{} UTC">{}</time>',
        utc.isoformat(timespec="seconds"),
        utc.strftime("%Y-%m-%d %H:%M:%S"),
        written,
    )


@register.inclusion_tag("panel/tags/code.html")
def json(value: Any, label: str) -> dict[str, str]:
    """Draw an object of the API, or a text that may be JSON, in lines; with a button to copy it.

    No link in it leads to a card.

    :param label: its name, for people who do not see it.
    """
    return {"text": _pretty(value), "label": label}


@register.inclusion_tag("panel/tags/code.html")
def code(text: str, label: str) -> dict[str, str]:
    """Draw a piece of a program, or a command, with a button to copy it."""
    return {"text": text, "label": label}


@register.inclusion_tag("panel/tags/empty.html")
def empty(title: str, text: str = "") -> dict[str, str]:
    """Draw the place of a list that has nothing in it: what would be here, and how it comes."""
    return {"title": title, "text": text}


@register.inclusion_tag("panel/tags/pager.html", takes_context=True)
def pager(context: RequestContext, page: Page) -> dict[str, Any]:
    """Draw the ways to newer and older rows of a list."""
    query = context["request"].GET.copy()
    went_back = query.pop("ending_before", None) is not None
    went_on = query.pop("starting_after", None) is not None
    # Forward: newer iff a cursor was given, older iff there is more. Backward the other way round.
    has_newer = page.has_more if went_back else went_on
    has_older = went_back or page.has_more
    rest = list(query.lists())
    return {
        "total": _counted(page.total_count),
        "newer": _with(rest, "ending_before", page.rows[0].id) if has_newer and page.rows else "",
        "older": _with(rest, "starting_after", page.rows[-1].id) if has_older and page.rows else "",
    }


def _counted(total: int | None) -> str:
    if total is None:
        return ""
    number = number_format(min(total, TOTAL_MAX), force_grouping=True)
    more = "+" if total > TOTAL_MAX else ""
    return ngettext("%(number)s row", "%(number)s rows", total) % {"number": number + more}


@register.inclusion_tag("panel/tags/field.html")
def field(bound: BoundField) -> dict[str, Any]:
    """Draw a form's field: label, input, help, and the refusal at its input."""
    described = [f"{bound.auto_id}-help"] if bound.help_text else []
    described += [f"{bound.auto_id}-error"] if bound.errors else []
    attributes: dict[str, str | bool] = {"class": _class_of(bound)}
    if described:
        attributes["aria-describedby"] = " ".join(described)
    if bound.errors:
        attributes["aria-invalid"] = "true"
    return {"field": bound, "input": bound.as_widget(attrs=attributes)}


@register.inclusion_tag("panel/tags/confirm.html", takes_context=True)
def confirm(
    context: RequestContext, button: str, back: str, consequence: str = ""
) -> dict[str, Any]:
    """Draw the end of a page that asks: the consequence, the button, and the way back.

    :param back: the address that the way back leads to.
    """
    return {"button": button, "back": back, "consequence": consequence}


def _pretty(value: Any) -> str:
    if isinstance(value, str):
        try:
            value = json_text.loads(value)
        except (ValueError, RecursionError):
            return hide_hand_offs(value)
    return hide_hand_offs(json_text.dumps(value, indent=2, ensure_ascii=False))


def _with(rest: list[tuple[str, list[str]]], name: str, row_id: str) -> str:
    return "?" + urlencode([*rest, (name, row_id)], doseq=True)


def _class_of(bound: BoundField) -> str:
    kinds = {
        "select": "form-select",
        "checkbox": "form-check-input",
        "radioselect": "",
        "checkboxselectmultiple": "",
    }
    return kinds.get(bound.widget_type, "form-control")
