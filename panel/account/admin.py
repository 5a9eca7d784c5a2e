from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin

# A person's address is the user's own, and a second factor is not edited by hand.
admin.site.unregister(EmailAddress)
admin.site.unregister(Authenticator)
