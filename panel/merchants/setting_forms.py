"""The form of a merchant's settings; `merchants.terms` checks them again."""

from typing import Any, ClassVar

from django import forms
from django.conf import settings
from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from merchants.models import Merchant
from merchants.notices import ADDRESSES_MAX, MailKind
from panel import refusals
from panel.merchants.acts import Refusable

KINDS: dict[str, Any] = {
    MailKind.ENDPOINT_FAILING.value: _("A webhook endpoint is failing"),
    MailKind.KEY_CHANGED.value: _(
        "An API key was created, rolled or revoked (the owners always hear)"
    ),
    MailKind.SIGNED_IN.value: _(
        "Somebody signed in in a new browser (they always hear themselves)"
    ),
    MailKind.CASE_CLOSED.value: _("We have looked into a payment"),
    MailKind.DISPUTE_OPENED.value: _("A dispute was opened"),
    MailKind.DISPUTE_DUE_SOON.value: _("A dispute without an answer is due in 3 days"),
    MailKind.DISPUTE_DUE_TOMORROW.value: _("A dispute without an answer is due tomorrow"),
    MailKind.PAYOUT_FAILED.value: _("A payout failed"),
    MailKind.STATEMENT_READY.value: _("A statement is ready"),
}


class SettingsForm(Refusable):
    """The display name, and the mails: to which addresses, about what, in which language."""

    LANGUAGES: ClassVar[list[tuple[str, Any]]] = list(settings.LANGUAGES)

    use_required_attribute = False

    name = forms.CharField(
        label=_("Display name"),
        max_length=200,
        help_text=_("Payers see it on the page before their bank's."),
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    notice_emails = forms.CharField(
        label=_("Addresses for notices"),
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "autocomplete": "off", "spellcheck": "false"}),
    )
    notices = forms.MultipleChoiceField(
        label=_("Mails about"),
        required=False,
        choices=[*KINDS.items()],
        widget=forms.CheckboxSelectMultiple,
    )
    notice_language = forms.ChoiceField(label=_("Language of the mails"), choices=LANGUAGES)

    def __init__(self, data: QueryDict | None, *, merchant: Merchant) -> None:
        wanted = [kind for kind in KINDS if kind not in merchant.silenced_notices]
        initial = {
            "name": merchant.name,
            "notice_emails": "\n".join(merchant.notice_emails),
            "notices": wanted,
            "notice_language": merchant.notice_language or settings.LANGUAGE_CODE,
        }
        super().__init__(data, initial=initial)
        self.fields["notice_emails"].help_text = _(
            "One on each line, up to %(most)s. Without any they go to %(address)s."
        ) % {"most": ADDRESSES_MAX, "address": merchant.email}

    @property
    def changes(self) -> dict[str, Any]:
        """Return the values as `accounts.change` takes them."""
        typed = self.cleaned_data
        return {
            "name": typed["name"],
            "notice_emails": typed["notice_emails"].replace(",", " ").split(),
            "silenced_notices": [kind for kind in KINDS if kind not in typed["notices"]],
            "notice_language": typed["notice_language"],
        }

    def refuse(self, problem: Exception) -> None:
        """Show a refusal of the room below at its input: they are about addresses or the name."""
        is_of_name = str(problem).startswith("name:")
        self.add_error("name" if is_of_name else "notice_emails", refusals.sentence(problem))


def kinds_of(merchant: Merchant) -> list[Any]:
    """Return the labels of the notices that the merchant's addresses get."""
    return [word for kind, word in KINDS.items() if kind not in merchant.silenced_notices]
