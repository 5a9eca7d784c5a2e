"""Records of TLS that no library writes: sealed with a connection's own keys.

A receiver may send what it likes once it has shaken hands: another handshake's beginning, tickets
for sessions, without end. The keys come from the log that OpenSSL keeps for the curious.
"""

import hmac
import socket
import ssl
import struct
import tempfile
from collections.abc import Iterator
from hashlib import sha256
from itertools import count
from pathlib import Path

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDFExpand

ALERT, HANDSHAKE, APPLICATION = 21, 22, 23
VERSION = b"\x03\x03"
HELLO_REQUEST = b"\0\0\0\0"
# Valid for a day; an age to add, a nonce, the ticket itself, no extensions.
TICKET = struct.pack(">IIBBH", 86_400, 7, 1, 1, 32) + b"t" * 32 + b"\0\0"
NEW_SESSION_TICKET = b"\x04" + len(TICKET).to_bytes(3) + TICKET
# Of a record's five bytes, a message's four and its version: then 32 random ones.
RANDOM = slice(11, 43)


def hello_requests(wire: socket.socket, certificate: Path) -> Iterator[bytes]:
    """Shake hands in TLS 1.2; then yield record after record that asks for a new handshake."""
    context = _context(certificate, ssl.TLSVersion.TLSv1_2)
    context.set_ciphers("ECDHE-ECDSA-AES128-GCM-SHA256")
    client, server, keys = _shake_hands(wire, context)
    seed = b"key expansion" + server + client
    block = _expand(bytes.fromhex(keys["CLIENT_RANDOM"]), seed, 40)
    key, salt = AESGCM(block[16:32]), block[36:40]
    for number in count(1):  # The first one, 0, ended the handshake.
        place = number.to_bytes(8)
        facts = place + bytes([HANDSHAKE]) + VERSION + len(HELLO_REQUEST).to_bytes(2)
        sealed = place + key.encrypt(salt + place, HELLO_REQUEST, facts)
        yield bytes([HANDSHAKE]) + VERSION + len(sealed).to_bytes(2) + sealed


def session_tickets(wire: socket.socket, certificate: Path) -> Iterator[bytes]:
    """Shake hands in TLS 1.3; then yield ticket after ticket."""
    context = _context(certificate, ssl.TLSVersion.TLSv1_3)
    context.num_tickets = 0
    _client, _server, keys = _shake_hands(wire, context)
    secret = bytes.fromhex(keys["SERVER_TRAFFIC_SECRET_0"])
    key, mask = AESGCM(_derive(secret, b"key", 32)), int.from_bytes(_derive(secret, b"iv", 12))
    content = NEW_SESSION_TICKET + bytes([HANDSHAKE])
    for number in count():
        facts = bytes([APPLICATION]) + VERSION + (len(content) + 16).to_bytes(2)
        yield facts + key.encrypt((mask ^ number).to_bytes(12), content, facts)


def _context(certificate: Path, version: ssl.TLSVersion) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = context.maximum_version = version
    context.load_cert_chain(certificate)
    return context


def _shake_hands(
    wire: socket.socket, context: ssl.SSLContext
) -> tuple[bytes, bytes, dict[str, str]]:
    """Return both sides' random numbers, and the logged secrets by their names."""
    came, goes = ssl.MemoryBIO(), ssl.MemoryBIO()
    heard, said = b"", b""
    with tempfile.NamedTemporaryFile("r") as log:
        context.keylog_filename = log.name
        talk = context.wrap_bio(came, goes, server_side=True)
        while not _is_done(talk):
            said += (piece := goes.read())
            wire.sendall(piece)
            heard += (piece := wire.recv(65_536))
            if not piece:
                raise ConnectionResetError
            came.write(piece)
        wire.sendall(goes.read())
        lines = [line.split() for line in log if not line.startswith("#")]
    return heard[RANDOM], said[RANDOM], {name: secret for name, _random, secret in lines}


def _is_done(talk: ssl.SSLObject) -> bool:
    try:
        talk.do_handshake()
    except ssl.SSLWantReadError:
        return False
    return True


def _expand(secret: bytes, seed: bytes, size: int) -> bytes:
    """Return bytes from TLS 1.2's pseudo-random function (RFC 5246, 5)."""
    block, found = seed, b""
    while len(found) < size:
        block = hmac.digest(secret, block, sha256)
        found += hmac.digest(secret, block + seed, sha256)
    return found[:size]


def _derive(secret: bytes, label: bytes, size: int) -> bytes:
    """Return bytes as TLS 1.3 derives them (RFC 8446, 7.1), for AES-256 and SHA-384."""
    name = b"tls13 " + label
    facts = size.to_bytes(2) + bytes([len(name)]) + name + b"\0"
    return HKDFExpand(hashes.SHA384(), size, facts).derive(secret)
