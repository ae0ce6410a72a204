"""Validation of URL templates (RFC 6570) and patterns of linkifiers and playgrounds."""

import re
from collections.abc import Sequence
from typing import Final

import re2
import uritemplate

from server.domain.errors import InvalidParameterError
from server.domain.markdown.linkifiers import Linkifier
from server.domain.markdown.links import safe_href
from server.i18n import _

MAX_PATTERN_LENGTH: Final = 1_000
MAX_TEMPLATE_LENGTH: Final = 2_000
MAX_LINKIFIERS: Final = 300
MAX_ALTERNATIVES: Final = 20
MAX_PLAYGROUND_NAME_LENGTH: Final = 100
MAX_LANGUAGE_LENGTH: Final = 40
CODE: Final = "code"
"""The one variable of a playground's template."""

_NAME: Final = r"(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*(?:\*|:[1-9]\d{0,3})?"
_EXPRESSION: Final = re.compile(rf"\{{[+#./;?&]?{_NAME}(?:,{_NAME})*\}}", re.ASCII)
_LANGUAGE: Final = re.compile(r"[ a-zA-Z0-9_+\-./#]+")
_LACKING: Final = re.compile(r"\(\?<?[=!]|\(\?>|\(\?\(|\(\?P=|\\[1-9]")
"""Syntax that Python's patterns have and RE2's do not."""


def checked_template(name: str, template: str) -> str:
    """Return the template; raise InvalidParameterError for the parameter of this name."""
    template = template.strip()
    if len(template) > MAX_TEMPLATE_LENGTH:
        raise InvalidParameterError(
            name,
            _(
                "{name} is too long (limit: {limit} characters)",
                name=name,
                limit=MAX_TEMPLATE_LENGTH,
            ),
        )
    if re.search(r"[{}]", _EXPRESSION.sub("", template)):
        raise InvalidParameterError(name, _("Invalid URL template."))
    parsed = uritemplate.URITemplate(template)
    example = parsed.expand(dict.fromkeys(parsed.variable_names, "1"))
    href = safe_href(example)
    if href is None or "://" not in href:
        raise InvalidParameterError(
            name, _("{name} must lead to an address like https://example.com/{{id}}", name=name)
        )
    return template


def checked_linkifier(pattern: str, url_template: str) -> tuple[str, str]:
    """Return both; raise InvalidParameterError if either is invalid."""
    pattern = pattern.strip()
    if not pattern:
        raise InvalidParameterError("pattern", _("pattern cannot be blank"))
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise InvalidParameterError(
            "pattern",
            _("pattern is too long (limit: {limit} characters)", limit=MAX_PATTERN_LENGTH),
        )
    url_template = checked_template("url_template", url_template)
    _check_pattern(pattern)
    wanted = {*uritemplate.URITemplate(url_template).variable_names}
    named = {name.decode() for name in re2.compile(pattern.encode()).groupindex}
    if unknown := sorted(wanted - named):
        raise InvalidParameterError(
            "url_template",
            _("Group '{value}' in URL template is not present in the pattern.", value=unknown[0]),
        )
    if unused := sorted(named - wanted):
        raise InvalidParameterError(
            "pattern",
            _("Group '{value}' in pattern is not present in the URL template.", value=unused[0]),
        )
    try:
        Linkifier(pattern, url_template)
    except ValueError as error:
        raise InvalidParameterError(
            "pattern", _("Bad regular expression: {error}", error=error)
        ) from error
    return pattern, url_template


def checked_example(pattern: str, example: str | None) -> str | None:
    """Return the example, None if it is empty. Raises InvalidParameterError."""
    example = (example or "").strip()
    if not example:
        return None
    if len(example) > MAX_TEMPLATE_LENGTH or not re2.compile(pattern.encode()).fullmatch(
        example.encode()
    ):
        raise InvalidParameterError("example_input", _("The pattern must match the example."))
    return example


def checked_reverse(pattern: str, template: str | None) -> str | None:
    """Return the template of the text that becomes a link, None if it is empty.

    Raises InvalidParameterError.
    """
    template = (template or "").strip()
    if not template:
        return None
    if len(template) > MAX_TEMPLATE_LENGTH or re.search(r"[{}]", _EXPRESSION.sub("", template)):
        raise InvalidParameterError("reverse_template", _("Invalid reverse template."))
    _check_groups("reverse_template", pattern, template)
    return template


def checked_alternatives(pattern: str, templates: Sequence[str]) -> tuple[str, ...]:
    """Return other addresses of what the pattern matches. Raises InvalidParameterError."""
    name = "alternative_url_templates"
    if len(templates) > MAX_ALTERNATIVES:
        raise InvalidParameterError(
            name, _("Too many alternative templates (limit: {limit})", limit=MAX_ALTERNATIVES)
        )
    checked = dict.fromkeys(checked_template(name, each) for each in templates)
    for each in checked:
        _check_groups(name, pattern, each)
    return tuple(checked)


def _check_groups(name: str, pattern: str, template: str) -> None:
    """Raise InvalidParameterError unless the variables are all groups of the pattern."""
    named = {group.decode() for group in re2.compile(pattern.encode()).groupindex}
    if {*uritemplate.URITemplate(template).variable_names} != named:
        raise InvalidParameterError(
            name, _("{name} must have the groups of the pattern as its variables.", name=name)
        )


def _check_pattern(pattern: str) -> None:
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern.encode(), options=options)
    except re2.error as error:
        why = error.args[0]
        shown = why.decode(errors="replace") if isinstance(why, bytes) else str(why)
        hint = ""
        if _LACKING.search(pattern):
            hint = ". Patterns are those of RE2, which has no look-around and no back references"
        raise InvalidParameterError(
            "pattern", _("Bad regular expression: {shown}{hint}", shown=shown, hint=hint)
        ) from error
    if compiled.fullmatch(b""):
        raise InvalidParameterError("pattern", _("pattern must not match the empty text"))


def checked_playground(name: str, language: str, url_template: str) -> tuple[str, str, str]:
    """Return all three normalized; raise InvalidParameterError."""
    name, language = name.strip(), language.strip()
    if not name or len(name) > MAX_PLAYGROUND_NAME_LENGTH:
        raise InvalidParameterError("name", _("name is blank or too long"))
    if len(language) > MAX_LANGUAGE_LENGTH or _LANGUAGE.fullmatch(language) is None:
        raise InvalidParameterError(
            "pygments_language", _("Invalid characters in pygments language, or too many")
        )
    url_template = checked_template("url_template", url_template)
    variables = {*uritemplate.URITemplate(url_template).variable_names}
    if CODE not in variables:
        raise InvalidParameterError(
            "url_template", _('Missing the required variable "code" in the URL template')
        )
    if variables != {CODE}:
        raise InvalidParameterError(
            "url_template", _('"code" should be the only variable present in the URL template')
        )
    return name, language, url_template
