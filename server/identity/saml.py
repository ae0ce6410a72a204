"""SAML 2.0: build requests to a provider, and validate its responses.

Loaded only if configured. Checks that the library omits, or does by prefix only, are done here.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any, ClassVar, Final
from urllib.parse import urlencode, urlsplit

import msgspec
from onelogin.saml2.auth import OneLogin_Saml2_Auth
from onelogin.saml2.authn_request import OneLogin_Saml2_Authn_Request
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Constants
from onelogin.saml2.response import OneLogin_Saml2_Response
from onelogin.saml2.settings import OneLogin_Saml2_Settings
from onelogin.saml2.utils import OneLogin_Saml2_Utils
from typing_extensions import override

from server.domain.clock import Clock
from server.domain.errors import ServerNotReadyError
from server.domain.providers import SamlProvider
from server.i18n import _
from server.identity.errors import IdentityError
from server.identity.flows import Flow
from server.identity.identity import Identity
from server.identity.saml_worker import ValidationOutcome, ValidationRequest
from server.parsing.lane import Lane, ParserUnavailableError, TooCostlyError
from storage.address_folding import folded_domain

MAX_RESPONSE_LENGTH: Final = 256 * 1024
EMAIL_ATTRIBUTES: Final = (
    "email",
    "mail",
    "urn:oid:0.9.2342.19200300.100.1.3",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
)
NAME_ATTRIBUTES: Final = (
    "displayName",
    "name",
    "urn:oid:2.16.840.1.113730.3.1.241",
    "http://schemas.microsoft.com/identity/claims/displayname",
    "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/name",
)
"""Attributes for the name, unless configured."""
GROUPS_ATTRIBUTES: Final = (
    "groups",
    "memberOf",
    "urn:oid:1.3.6.1.4.1.5923.1.5.1.1",
    "http://schemas.microsoft.com/ws/2008/06/identity/claims/groups",
    "http://schemas.xmlsoap.org/claims/Group",
)
"""Attributes for groups, unless configured."""
EMAIL_VERIFIED: Final = "email_verified"


@dataclass(frozen=True, slots=True)
class ServiceProviderKey:
    """The key that signs our requests and decrypts responses."""

    certificate: str
    key: str


@dataclass(frozen=True, slots=True)
class SamlSite:
    """A SAML identity provider."""

    provider: SamlProvider
    own: ServiceProviderKey | None
    clock: Clock
    lane: Lane
    """The process that parses responses."""
    posts_back: ClassVar[bool] = True
    state_field: ClassVar[str] = "RelayState"
    answer_field: ClassVar[str] = "SAMLResponse"

    async def way_there(self, flow: Flow, redirect_uri: str) -> str:
        """Return the URL to redirect the browser to, with a request that the response must name."""
        return await asyncio.to_thread(self._way_there, flow, redirect_uri)

    async def identify(self, flow: Flow, answer: str, redirect_uri: str) -> Identity:
        """Return the identity that the response asserts. Raises IdentityError."""
        if len(answer) > MAX_RESPONSE_LENGTH:
            raise IdentityError("the answer is too long")
        order = ValidationRequest(
            provider=self.provider,
            certificate="" if self.own is None else self.own.certificate,
            key="" if self.own is None else self.own.key,
            flow=flow,
            answer=answer,
            redirect_uri=redirect_uri,
            now=self.clock.now().timestamp(),
        )
        try:
            # A signature names transformations, which take quadratic time and more.
            read = await self.lane.ask(msgspec.msgpack.encode(order), share=flow.realm_id)
        except TooCostlyError:
            raise IdentityError("the answer takes too long to read") from None
        except ParserUnavailableError:
            raise ServerNotReadyError(_("The server is not ready. Try again shortly.")) from None
        found = msgspec.msgpack.decode(read, type=ValidationOutcome)
        if found.refusal:
            raise IdentityError(found.refusal, found.message)
        return Identity(found.email, found.full_name, found.groups)

    def metadata(self, redirect_uri: str) -> bytes:
        """Return this server's metadata for the provider."""
        made = _settings(self.provider, self.own, redirect_uri).get_sp_metadata()
        return made if isinstance(made, bytes) else made.encode()

    def _way_there(self, flow: Flow, redirect_uri: str) -> str:
        settings = _settings(self.provider, self.own, redirect_uri)
        question = _AuthnRequest(settings, question_id=_question_id(flow))
        fields = {"SAMLRequest": question.get_request(), "RelayState": flow.state}
        if self.own is not None:
            OneLogin_Saml2_Auth(_request_data(redirect_uri), settings).add_request_signature(fields)
        joint = "&" if urlsplit(self.provider.sign_in_url).query else "?"
        return f"{self.provider.sign_in_url}{joint}{urlencode(fields)}"


def read_answer(
    provider: SamlProvider,
    own: ServiceProviderKey | None,
    clock: Clock,
    flow: Flow,
    answer: str,
    redirect_uri: str,
) -> Identity:
    """Validate a response; return its identity. Runs in a process of its own.

    Raises IdentityError.
    """
    return _SamlResponseReader(provider, own, clock).read(flow, answer, redirect_uri)


@dataclass(frozen=True, slots=True)
class _SamlResponseReader:
    provider: SamlProvider
    own: ServiceProviderKey | None
    clock: Clock

    def read(self, flow: Flow, answer: str, redirect_uri: str) -> Identity:
        data, question_id = _request_data(redirect_uri), _question_id(flow)
        try:
            response = OneLogin_Saml2_Response(
                _settings(self.provider, self.own, redirect_uri), answer
            )
            response.is_valid(data, question_id, raise_exceptions=True)
            self._check(response, question_id, redirect_uri)
            return self._identity(response)
        except IdentityError:
            raise
        except Exception as error:
            # The input is untrusted, and the library raises many kinds of errors.
            raise IdentityError(f"the answer is not good: {error!r}") from error

    def _check(self, response: Any, question_id: str, redirect_uri: str) -> None:
        """Raise IdentityError unless the signed assertion is for us, now and this request."""
        document = response.get_xml_document()
        names = {"p": Constants.NS_SAMLP, "a": Constants.NS_SAML}
        bearers = document.xpath(
            "/p:Response/a:Assertion/a:Subject/a:SubjectConfirmation[@Method=$bearer]"
            "/a:SubjectConfirmationData",
            namespaces=names,
            bearer=Constants.CM_BEARER,
        )
        problems = {
            "another audience": _entity_id(redirect_uri) not in response.get_audiences(),
            "another place": document.get("Destination", redirect_uri) != redirect_uri,
            "another question, place or time": not any(
                each.get("InResponseTo") == question_id
                and each.get("Recipient") == redirect_uri
                and self._is_to_come(each.get("NotOnOrAfter"))
                for each in bearers
            ),
        }
        if found := [name for name, is_one in problems.items() if is_one]:
            raise IdentityError(f"the answer is not good: {', '.join(found)}")

    def _is_to_come(self, time: str | None) -> bool:
        now = self.clock.now().timestamp()
        return time is not None and OneLogin_Saml2_Utils.parse_SAML_to_time(time) > now

    def _identity(self, response: Any) -> Identity:
        """Return the identity. Raises IdentityError for an address it may not assert."""
        provider, attributes = self.provider, response.get_attributes()
        wanted = (provider.email_attribute,) if provider.email_attribute else EMAIL_ATTRIBUTES
        email = _first(attributes, wanted)
        name_id = response.get_nameid_data()
        if not email and name_id.get("Format") == Constants.NAMEID_EMAIL_ADDRESS:
            email = name_id.get("Value") or ""
        if not email:
            raise IdentityError(
                "no email", _("That account has no email address, or does not share it.")
            )
        says_so = _first(attributes, (EMAIL_VERIFIED,)).lower() == "true"
        domain = folded_domain(email.rpartition("@")[2])
        if not (says_so or provider.trusts_addresses or domain in provider.domains):
            raise IdentityError(
                "the email is not verified",
                _("The email address of that account has not been verified there."),
            )
        name = _first(attributes, NAME_ATTRIBUTES)
        if provider.name_attributes:
            parts = [_first(attributes, (each,)) for each in provider.name_attributes]
            name = " ".join(filter(None, parts))
        return Identity(email, name, _groups(provider, attributes))


def _entity_id(redirect_uri: str) -> str:
    """Return our entity id in this organization: the URL of the metadata."""
    return f"{redirect_uri}/metadata"


def _settings(
    provider: SamlProvider, own: ServiceProviderKey | None, redirect_uri: str
) -> OneLogin_Saml2_Settings:
    return OneLogin_Saml2_Settings(
        {
            "strict": True,
            "sp": {
                "entityId": _entity_id(redirect_uri),
                "assertionConsumerService": {
                    "url": redirect_uri,
                    "binding": Constants.BINDING_HTTP_POST,
                },
                "NameIDFormat": Constants.NAMEID_UNSPECIFIED,
                "x509cert": "" if own is None else own.certificate,
                "privateKey": "" if own is None else own.key,
            },
            "idp": {
                "entityId": provider.entity_id,
                "singleSignOnService": {
                    # The library puts it into its XML as it is.
                    "url": escape(provider.sign_in_url),
                    "binding": Constants.BINDING_HTTP_REDIRECT,
                },
                "x509certMulti": {"signing": provider.certificates},
            },
            "security": {
                "authnRequestsSigned": own is not None,
                "rejectDeprecatedAlgorithm": True,
                "requestedAuthnContext": False,
                "wantAttributeStatement": False,
                "wantNameId": False,
            },
        }
    )


class _AuthnRequest(OneLogin_Saml2_Authn_Request):  # type: ignore[misc]
    """An authentication request with an id that names its flow."""

    def __init__(self, settings: OneLogin_Saml2_Settings, *, question_id: str) -> None:
        self._question_id = question_id
        super().__init__(settings)

    @override
    def _generate_request_id(self) -> str:
        return self._question_id


def _question_id(flow: Flow) -> str:
    # A name in XML begins with no digit.
    return f"_{flow.nonce}"


def _request_data(redirect_uri: str) -> dict[str, Any]:
    """Return the URL that receives the response, as browsers see it."""
    place = urlsplit(redirect_uri)
    return {
        "https": "on" if place.scheme == "https" else "off",
        "http_host": place.netloc,
        "script_name": place.path,
        "get_data": {},
        "post_data": {},
    }


def _first(attributes: Mapping[str, list[Any]], names: tuple[str, ...]) -> str:
    """Return the first value of any of these attributes; empty if there is none."""
    texts = (value for name in names for value in attributes.get(name, ()))
    return next((text for text in texts if isinstance(text, str)), "")


def _groups(provider: SamlProvider, attributes: Mapping[str, list[Any]]) -> tuple[str, ...] | None:
    """Return the asserted groups; None if the provider asserts none, not even an empty list."""
    wanted = (provider.groups_attribute,) if provider.groups_attribute else GROUPS_ATTRIBUTES
    found = [attributes[name] for name in wanted if name in attributes]
    if not found:
        return None
    return tuple(text for values in found for text in values if isinstance(text, str))
