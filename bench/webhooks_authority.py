"""A certificate authority for one run, and receivers' certificates, good ones and bad ones."""

import datetime
from ipaddress import ip_address
from pathlib import Path
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Benchmark")])
LIFE = datetime.timedelta(days=1)
SIGNS_CERTIFICATES = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False,
    data_encipherment=False, key_agreement=False, key_cert_sign=True, crl_sign=False,
    encipher_only=False, decipher_only=False,
)  # fmt: skip


class Certificates(NamedTuple):
    """Files of certificates, the receivers' ones with their keys.

    :param authority: the file of the authority that signed `trusted` and `expired`.
    :param self_signed: signed by an authority that is not trusted: itself.
    """

    authority: Path
    trusted: Path
    expired: Path
    self_signed: Path


def make(directory: Path) -> Certificates:
    """Make an authority and certificates for this machine's loopback address."""
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    itself = signed(authority, authority, NAME, x509.BasicConstraints(ca=True, path_length=0))
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    contents = {
        "authority": _pem(itself),
        "trusted": secret + _pem(signed(key, authority, x509.Name([]), here)),
        "expired": secret + _pem(signed(key, authority, x509.Name([]), here, ends=-LIFE / 2)),
        "self_signed": secret + _pem(signed(key, key, NAME, here)),
    }
    files = {name: directory / f"{name}.pem" for name in contents}
    for name, content in contents.items():
        files[name].write_bytes(content)
    return Certificates(**files)


def signed(
    key: ec.EllipticCurvePrivateKey,
    authority: ec.EllipticCurvePrivateKey,
    subject: x509.Name,
    extension: x509.ExtensionType,
    *,
    ends: datetime.timedelta = LIFE,
) -> x509.Certificate:
    """Return a certificate with all that RFC 5280 asks for: Python 3.13 and later check it.

    :param authority: the key that signs; `key` itself for a certificate that signs itself.
    :param ends: from now; it begins `LIFE` before it ends or before now, whichever is earlier.
    """
    now = datetime.datetime.now(datetime.UTC)
    of_key, of_authority = (
        x509.SubjectKeyIdentifier.from_public_key(one.public_key()) for one in (key, authority)
    )
    by = x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(of_authority)
    builder = x509.CertificateBuilder(
        issuer_name=NAME,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=now + min(ends, datetime.timedelta(0)) - LIFE,
        not_valid_after=now + ends,
    )
    builder = builder.add_extension(extension, critical=True)
    builder = builder.add_extension(of_key, critical=False).add_extension(by, critical=False)
    if isinstance(extension, x509.BasicConstraints):
        builder = builder.add_extension(SIGNS_CERTIFICATES, critical=True)
    return builder.sign(authority, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
