"""An authority of the test, the certificate of its server, and the key that signs tokens.

SPDX-License-Identifier: GPL-3.0-or-later
"""

import base64
import datetime
import ipaddress
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

_DAY = datetime.timedelta(days=1)


class Authority:
    """A certificate authority that lives as long as the test."""

    def __init__(self, name: str) -> None:
        """Make its key and its certificate."""
        self._key = _private_key()
        self._name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
        self._certificate = (
            _builder(self._name, self._name, self._key)
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_usage(signs=True), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )

    def write(self, path: Path) -> Path:
        """Write its certificate, for those who are to trust it."""
        path.write_bytes(_pem(self._certificate))
        return path

    def write_server(self, path: Path, names: Sequence[str]) -> Path:
        """Write the key and the certificate of a server with these names and addresses into one file."""
        key = _private_key()
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "registry of a test")])
        certificate = (
            _builder(subject, self._name, key)
            .add_extension(x509.SubjectAlternativeName([_alternative(name) for name in names]), critical=False)
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        path.touch(0o600)
        path.write_bytes(_pem(certificate) + _key_pem(key))
        return path


class Signer:
    """Signs tokens (RS256), with its certificate in each of them, as docker-registry wants it."""

    def __init__(self) -> None:
        """Make its key and a certificate signed by itself."""
        self._key = _private_key()
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tokens of a test")])
        self._certificate = _builder(name, name, self._key).sign(self._key, hashes.SHA256())

    def write(self, path: Path) -> Path:
        """Write the certificate that a registry is to trust."""
        path.write_bytes(_pem(self._certificate))
        return path

    def token(self, claims: Mapping[str, object]) -> str:
        """Give a signed JSON web token."""
        der = self._certificate.public_bytes(serialization.Encoding.DER)
        header = {"typ": "JWT", "alg": "RS256", "x5c": [base64.b64encode(der).decode()]}
        signed = f"{_coded(json.dumps(header).encode())}.{_coded(json.dumps(dict(claims)).encode())}"
        return f"{signed}.{_coded(self._key.sign(signed.encode(), padding.PKCS1v15(), hashes.SHA256()))}"


def _coded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _private_key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


def _builder(subject: x509.Name, issuer: x509.Name, key: rsa.RSAPrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key.public_key())
    return builder.serial_number(x509.random_serial_number()).not_valid_before(now - _DAY).not_valid_after(now + _DAY)


def _usage(signs: bool) -> x509.KeyUsage:
    return x509.KeyUsage(True, False, False, False, False, signs, signs, False, False)


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
