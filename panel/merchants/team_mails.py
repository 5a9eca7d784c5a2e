"""The mail that invites a person to a team: the one place that has the invitation's token."""

from django.conf import settings
from django.core.mail import EmailMultiAlternatives
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.translation import gettext as _

from core import mail
from merchants.invitations import Invited
from panel.merchants.overview import ROLES


def invite(made: Invited) -> None:
    """Send an invitation in the language of the page, the inviter's, when the answer has left."""
    invitation = made.invitation
    path = reverse("account_invitation_link", args=[made.token])
    shown = {
        "invitation": invitation,
        "merchant": invitation.merchant.name,
        "by": invitation.invited_by.email,
        "role": ROLES[invitation.role],
        "link": f"{settings.PANEL_URL}{path}",
        "panel_url": settings.PANEL_URL,
    }
    subject = _("Invitation to the team of %(merchant)s") % {"merchant": invitation.merchant.name}
    text = render_to_string("panel/mails/invitation.txt", shown)
    message = EmailMultiAlternatives(" ".join(subject.split()), text, None, [invitation.email])
    message.attach_alternative(render_to_string("panel/mails/invitation.html", shown), "text/html")
    mail.send_when_answered(message)
