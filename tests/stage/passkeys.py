"""A passkey of software: a key pair, and a device that signs what it is asked with it."""

import hashlib
import json
import secrets
from typing import Any

from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn.internal.auth import WebAuthn
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import (
    AttestationObject,
    AttestedCredentialData,
    AuthenticatorData,
    CollectedClientData,
)

from merchants.models import User
from tests.stage.visitors import HTML, Visitor

LOGIN = "/account/passkeys/login"
FLAGS = AuthenticatorData.FLAG


class Passkey:
    """A person's passkey, which counts its uses.

    :param counter: where it stands when it is added.
    """

    def __init__(self, user: User, *, counter: int = 0) -> None:
        self._user = user
        self._id = secrets.token_bytes(16)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.row: Authenticator = WebAuthn.add(user, "Laptop", self._added(counter)).instance

    def _added(self, counter: int) -> dict[str, Any]:
        public = ES256.from_cryptography_key(self._key.public_key())
        credential = AttestedCredentialData.create(bytes(16), self._id, public)
        data = self._data(FLAGS.UP | FLAGS.UV | FLAGS.AT, counter, credential)
        told = CollectedClientData.create("webauthn.create", b"any", settings.PANEL_URL)
        made = AttestationObject.create("none", data, {})
        return self._sent(clientDataJSON=told, attestationObject=made)

    def answer(self, options: dict[str, Any], *, counter: int) -> str:
        """Return what a page sends when the person has put their finger on it."""
        challenge = options["publicKey"]["challenge"]
        told = CollectedClientData.create("webauthn.get", challenge, settings.PANEL_URL)
        data = self._data(FLAGS.UP | FLAGS.UV, counter, b"")
        signed = bytes(data) + hashlib.sha256(told).digest()
        signature = self._key.sign(signed, ec.ECDSA(hashes.SHA256()))
        handle = user_pk_to_url_str(self._user).encode()
        return json.dumps(
            self._sent(
                clientDataJSON=told, authenticatorData=data, signature=signature, userHandle=handle
            )
        )

    def _data(self, flags: Any, counter: int, credential: bytes) -> AuthenticatorData:
        host = hashlib.sha256(settings.PANEL_HOST.encode()).digest()
        return AuthenticatorData.create(host, flags, counter, credential)

    def _sent(self, **response: bytes) -> dict[str, Any]:
        name = websafe_encode(self._id)
        said = {key: websafe_encode(value) for key, value in response.items()}
        return {"id": name, "rawId": name, "type": "public-key", "response": said,
                "clientExtensionResults": {}}  # fmt: skip

    def sign_in(self, counter: int, address: str = "203.0.113.7") -> Visitor:
        """Return a browser in which the passkey alone was used to sign in."""
        visitor = Visitor(address)
        asked = visitor.http.get(LOGIN, headers={"accept": "application/json"}).json()
        typed = {"credential": self.answer(asked["request_options"], counter=counter)}
        visitor.http.post(LOGIN, typed, headers=HTML)
        return visitor
