"""A certificate authority for one run, and the receiver's certificate by it."""

import datetime
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

NAME = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Benchmark")])
LIFE = datetime.timedelta(days=1)


def make(directory: Path) -> tuple[Path, Path]:
    """Return the files of the authority's certificate, and of the receiver's with its key."""
    authority, key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    itself = _signed(authority, authority, NAME, x509.BasicConstraints(ca=True, path_length=0))
    here = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    trusted, receiver = directory / "authority.pem", directory / "receiver.pem"
    trusted.write_bytes(_pem(itself))
    secret = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    receiver.write_bytes(secret + _pem(_signed(key, authority, x509.Name([]), here)))
    return trusted, receiver


def _signed(
    key: ec.EllipticCurvePrivateKey,
    authority: ec.EllipticCurvePrivateKey,
    subject: x509.Name,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    today = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(
        issuer_name=NAME,
        subject_name=subject,
        public_key=key.public_key(),
        serial_number=x509.random_serial_number(),
        not_valid_before=today - LIFE,
        not_valid_after=today + LIFE,
    )
    return builder.add_extension(extension, critical=False).sign(authority, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)
