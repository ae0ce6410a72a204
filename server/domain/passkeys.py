"""Passkeys (WebAuthn): options for browsers, and verification of what they return.

No attestation is asked for: which maker's device it is does not matter.
"""

import hashlib
import hmac
import secrets
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import orjson
from itsdangerous import BadData, URLSafeTimedSerializer

from server.domain.addresses import RealmAddress
from server.domain.errors import AuthenticationFailedError
from server.i18n import _
from storage.ids import RealmId, UserId
from storage.second_factors import FactorRow

if TYPE_CHECKING:
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

LIFETIME_SECONDS: Final = 1_800
CHALLENGE_BYTES: Final = 32
MAX_CREDENTIAL_LENGTH: Final = 20_000
"""Length of the JSON that a browser returns."""
TIMEOUT_MILLISECONDS: Final = 120_000

Purpose = Literal["add", "second_step", "sign_in"]


class PasskeyRefusedError(AuthenticationFailedError):
    """The response is for another challenge or site, badly signed, or of an unknown passkey."""

    def __init__(self) -> None:
        super().__init__(_("This passkey is not known here, or did not confirm that it is you."))


class Ceremony(msgspec.Struct, frozen=True, kw_only=True):
    """A challenge to a browser, kept in a signed token of the form that it answers with."""

    purpose: Purpose
    realm_id: int
    user_id: int | None = None
    """None: a sign-in, in which the passkey names the user."""
    challenge: str = msgspec.field(default_factory=lambda: secrets.token_hex(CHALLENGE_BYTES))

    def dump(self, key: bytes) -> str:
        return str(_serializer(key).dumps(msgspec.to_builtins(self)))


class VerifiedPasskey(msgspec.Struct, frozen=True, kw_only=True):
    """A stored passkey, or a new one."""

    credential_id: bytes
    public_key: bytes
    sign_count: int

    @classmethod
    def of(cls, factor: FactorRow) -> "VerifiedPasskey":
        """Return the passkey of a row of this kind."""
        assert factor.credential_id is not None
        assert factor.public_key is not None
        assert factor.sign_count is not None
        return cls(
            credential_id=factor.credential_id,
            public_key=factor.public_key,
            sign_count=factor.sign_count,
        )


def load(
    key: bytes, token: str, purpose: Purpose, realm_id: RealmId, user_id: UserId | None
) -> Ceremony:
    """Return the ceremony of the token. Raises PasskeyRefusedError for another or an old one."""
    try:
        found = msgspec.convert(_serializer(key).loads(token, max_age=LIFETIME_SECONDS), Ceremony)
    except (BadData, msgspec.ValidationError):
        raise PasskeyRefusedError from None
    if (found.purpose, found.realm_id, found.user_id) != (purpose, realm_id, user_id):
        raise PasskeyRefusedError
    return found


def options_to_add(
    ceremony: Ceremony,
    address: RealmAddress,
    *,
    key: bytes,
    realm_name: str,
    email: str,
    full_name: str,
    known: Sequence[bytes],
) -> str:
    """Return the options of `navigator.credentials.create` as JSON.

    Authenticators that have one of the `known` credentials refuse.
    """
    import webauthn  # takes 100 ms to import
    from webauthn.helpers.structs import (
        AuthenticatorSelectionCriteria,
        ResidentKeyRequirement,
        UserVerificationRequirement,
    )

    # Opaque, as the standard demands: devices store it readably.
    handle = hmac.digest(key, f"{ceremony.realm_id}:{ceremony.user_id}".encode(), hashlib.sha256)
    options = webauthn.generate_registration_options(
        rp_id=address.domain,
        rp_name=realm_name,
        user_id=handle,
        user_name=email,
        user_display_name=full_name,
        challenge=bytes.fromhex(ceremony.challenge),
        timeout=TIMEOUT_MILLISECONDS,
        authenticator_selection=AuthenticatorSelectionCriteria(
            resident_key=ResidentKeyRequirement.PREFERRED,
            user_verification=UserVerificationRequirement.PREFERRED,
        ),
        exclude_credentials=_described(known),
    )
    return webauthn.options_to_json(options)


def options_to_use(ceremony: Ceremony, address: RealmAddress, *, known: Sequence[bytes]) -> str:
    """Return the options of `navigator.credentials.get` as JSON.

    Without `known` credentials the browser offers those that it has for the site, and verifies its
    user by fingerprint, face or PIN.
    """
    import webauthn
    from webauthn.helpers.structs import UserVerificationRequirement

    options = webauthn.generate_authentication_options(
        rp_id=address.domain,
        challenge=bytes.fromhex(ceremony.challenge),
        timeout=TIMEOUT_MILLISECONDS,
        allow_credentials=_described(known),
        user_verification=UserVerificationRequirement.PREFERRED
        if known
        else UserVerificationRequirement.REQUIRED,
    )
    return webauthn.options_to_json(options)


def verified_new(ceremony: Ceremony, address: RealmAddress, credential: str) -> VerifiedPasskey:
    """Return the new passkey of a browser's response. Raises PasskeyRefusedError."""
    import webauthn

    response = _parsed(credential)
    try:
        found = webauthn.verify_registration_response(
            credential=response,
            expected_challenge=bytes.fromhex(ceremony.challenge),
            expected_rp_id=address.domain,
            expected_origin=address.url,
        )
    except _refusals():
        raise PasskeyRefusedError from None
    return VerifiedPasskey(
        credential_id=found.credential_id,
        public_key=found.credential_public_key,
        sign_count=found.sign_count,
    )


def credential_id_in(credential: str) -> bytes:
    """Return the id of the credential that a response claims. Raises PasskeyRefusedError."""
    from webauthn.helpers import parse_authentication_credential_json

    response = _parsed(credential)
    try:
        return parse_authentication_credential_json(response).raw_id
    except _refusals():
        raise PasskeyRefusedError from None


def verified_use(
    ceremony: Ceremony,
    address: RealmAddress,
    credential: str,
    passkey: VerifiedPasskey,
    *,
    verifies_user: bool,
) -> int:
    """Return the passkey's new count of signatures if its response is right.

    `verifies_user`: the device has to have verified its user, as a password's substitute. Raises
    PasskeyRefusedError.
    """
    import webauthn

    response = _parsed(credential)
    try:
        found = webauthn.verify_authentication_response(
            credential=response,
            expected_challenge=bytes.fromhex(ceremony.challenge),
            expected_rp_id=address.domain,
            expected_origin=address.url,
            credential_public_key=passkey.public_key,
            credential_current_sign_count=passkey.sign_count,
            require_user_verification=verifies_user,
        )
    except _refusals():
        raise PasskeyRefusedError from None
    return found.new_sign_count


def _described(credential_ids: Sequence[bytes]) -> "list[PublicKeyCredentialDescriptor]":
    from webauthn.helpers.structs import PublicKeyCredentialDescriptor

    return [PublicKeyCredentialDescriptor(id=each) for each in credential_ids]


def _parsed(credential: str) -> dict[str, Any]:
    """Parse a response; raise PasskeyRefusedError for what is too long, or no JSON object."""
    if len(credential) > MAX_CREDENTIAL_LENGTH:
        raise PasskeyRefusedError
    try:
        found = orjson.loads(credential)  # which endless nesting does not crash
    except orjson.JSONDecodeError:
        raise PasskeyRefusedError from None
    if not isinstance(found, dict):
        raise PasskeyRefusedError
    return found


def _refusals() -> tuple[type[Exception], ...]:
    """Return what the library raises for invalid and for malformed responses."""
    from webauthn.helpers.exceptions import WebAuthnException

    malformed = (ValueError, TypeError, KeyError, IndexError, AttributeError, struct.error)
    return (WebAuthnException, *malformed)


def _serializer(key: bytes) -> URLSafeTimedSerializer:
    return URLSafeTimedSerializer(
        key, salt="passkey", signer_kwargs={"digest_method": hashlib.sha256}
    )
