"""`/operator`: the queues, their dead jobs and the state of the installation, behind a password."""

import asyncio
import re
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

import structlog

from server.api.browsers import check_form, comes_from_same_site, cookie_value, set_cookie
from server.api.proxies import client_address
from server.api.rate_limit import Limiter, network_of
from server.app import App
from server.domain.errors import CsrfFailedError, RateLimitedError
from server.domain.sessions import form_token
from server.operator.actions import ACTIONS, Action
from server.operator.serving import Fields, PageRequest
from server.operator.sessions import COOKIE, LIFE_SECONDS, Sessions
from server.runtime import pages
from server.runtime.formatting import size, span
from server.runtime.pages import Page, static_content
from server.runtime.templates import templates_of
from server.telemetry import overview
from server.telemetry.overview import AWAY, Overview

if TYPE_CHECKING:
    from jinja2 import Environment

logger = structlog.get_logger(__name__)

ROOT: Final = "/operator"
MAX_DEAD_SHOWN: Final = 50
"""Dead jobs on a page."""
OVERVIEW_TIMEOUT_SECONDS: Final = 3.0
TIMEOUT_SECONDS: Final = 1.0
ACTION_TIMEOUT_SECONDS: Final = 60.0
"""For what takes time in proportion to the number of dead jobs."""
CACHE_SECONDS: Final = 2.0
"""How long an overview is shown to all operators before it is read again."""
STATIC: Final = {
    "style.css": "text/css; charset=utf-8",
    "live.js": "text/javascript; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
HEADERS: Final = {
    **pages.HEADERS,
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self';"
        " connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
}


def is_below_root(path: str) -> bool:
    """Return whether the path is one of the operator pages."""
    return path == ROOT or path.startswith(f"{ROOT}/")


class OperatorPages:
    """Answer requests below `/operator`. Every process can, and all show the same."""

    def __init__(self, app: App, password: str, queues: Sequence[str]) -> None:
        self._app = app
        self._queues = queues
        self._sessions = Sessions(password)
        self._sign_ins = Limiter(
            "operator", app.settings.rate_limit_sign_in, app.database, app.clock
        )
        self._seen: tuple[float, Overview] | None = None
        self._looking = asyncio.Lock()

    async def answer(self, request: PageRequest) -> Page:
        """Render the page, or redirect."""
        path = request.path.removeprefix(ROOT).strip("/")
        if path in STATIC:
            return _static(path)
        is_post = request.method == "POST"
        if is_post and not comes_from_same_site(request.headers):
            return self._refusal(HTTPStatus.FORBIDDEN, "This form was not sent by this page.")
        if path == "sign-in":
            return await self._sign_in(request) if is_post else self._sign_in_page()
        cookie = cookie_value(request.headers, COOKIE)
        if not self._sessions.is_valid(cookie):
            return _go("/sign-in")
        if is_post:
            try:
                check_form(cookie, _last(request.form, "token"))
            except CsrfFailedError:
                sentence = "This form is too old. Go back and reload."
                return self._refusal(HTTPStatus.FORBIDDEN, sentence)
        return await self._inside(request, form_token(cookie), path.split("/"), is_post=is_post)

    async def _inside(
        self, request: PageRequest, token: str, path: list[str], *, is_post: bool
    ) -> Page:
        """Answer a request with a valid session."""
        match path:
            case [""]:
                return await self._overview(token)
            case ["sign-out"] if is_post:
                return _go("/sign-in", _cookie("", 0, request, self._app))
            case ["queues", queue] if queue in self._queues:
                return await self._queue(request, token, queue)
            case ["queues", queue, name] if queue in self._queues and name in ACTIONS:
                action = ACTIONS[name]
                sent = request.form if is_post else request.query
                chosen = _chosen(sent) if action.is_about_dead else None
                if is_post:
                    return await self._act(request, queue, action, chosen)
                return self._question(token, queue, action, chosen)
        return self._refusal(HTTPStatus.NOT_FOUND, "There is no such page.")

    # -- signing in

    def _sign_in_page(self, problem: str = "", status: int = HTTPStatus.OK) -> Page:
        return _page("sign_in.html", status=status, problem=problem)

    async def _sign_in(self, request: PageRequest) -> Page:
        address = self._address(request)
        network = network_of(address)
        try:
            await self._sign_ins.count(network, {})
        except RateLimitedError as error:
            wait = span(float(error.headers.get("Retry-After", "60")))
            problem = f"Too many tries. Try again in {wait}."
            return self._sign_in_page(problem, HTTPStatus.TOO_MANY_REQUESTS)
        if not self._sessions.accepts(_last(request.form, "password")):
            logger.warning(
                "sign_in.failed", address=address, reason="authentication_failed", method="operator"
            )
            return self._sign_in_page("That is not the password.", HTTPStatus.FORBIDDEN)
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                await self._sign_ins.forget(network)
        except AWAY as lost:
            logger.warning("operator.sign_in_reset_failed", reason=str(lost))
        logger.info("operator.signed_in", address=address)
        cookie = _cookie(self._sessions.begin(), LIFE_SECONDS, request, self._app)
        return _go("", cookie)

    def _address(self, request: PageRequest) -> str:
        forwarded = request.headers.get("X-Forwarded-For")
        trusted = self._app.settings.trusted_proxies
        return client_address(request.remote_ip, forwarded, trusted)

    # -- pages

    async def _overview(self, token: str) -> Page:
        found = await self._look()
        problems = list(found.problems)
        if not self._app.bus.is_connected:
            problems.append("This process hears nothing of the others: its broker is away.")
        dead = sum(queue.dead for queue in found.queues)
        return self._render(
            "overview.html",
            token,
            found=found,
            problems=problems,
            dead=dead,
            actionable=self._queues,
        )

    async def _queue(self, request: PageRequest, token: str, queue: str) -> Page:
        found = await self._look()
        view = next((each for each in found.queues if each.queue == queue), None)
        try:
            async with asyncio.timeout(ACTION_TIMEOUT_SECONDS if view else TIMEOUT_SECONDS):
                dead = await self._app.desk.dead(queue, limit=MAX_DEAD_SHOWN)
        except AWAY as lost:
            return self._refusal(HTTPStatus.SERVICE_UNAVAILABLE, f"There is no answer. {lost}")
        return self._render(
            "queue.html", token, queue=queue, view=view, dead=dead, notice=_notice(request)
        )

    def _question(self, token: str, queue: str, action: Action, chosen: list[str] | None) -> Page:
        if chosen == []:
            return self._refusal(HTTPStatus.BAD_REQUEST, "No job was selected.")
        return self._render(
            "question.html",
            token,
            queue=queue,
            action=action,
            chosen=chosen,
            question=action.question(queue, chosen),
        )

    async def _act(
        self, request: PageRequest, queue: str, action: Action, chosen: list[str] | None
    ) -> Page:
        try:
            async with asyncio.timeout(ACTION_TIMEOUT_SECONDS):
                count = await action.run(self._app, queue, chosen)
        except AWAY as lost:
            logger.warning("operator.action_failed", action=action.name, reason=str(lost))
            sentence = f"There was no answer, so look whether it was done. {lost}"
            return self._refusal(HTTPStatus.SERVICE_UNAVAILABLE, sentence)
        self._seen = None
        logger.info(
            "operator.action_done",
            action=action.name,
            queue=queue,
            ids=chosen,
            count=count,
            address=self._address(request),
        )
        return _go(f"/queues/{queue}?{urlencode({'did': action.name, 'count': count})}")

    def _refusal(self, status: int, sentence: str) -> Page:
        return _page("refusal.html", status=status, sentence=sentence)

    def _render(self, template: str, token: str, **values: Any) -> Page:
        return _page(template, token=token, now=self._app.clock.now(), **values)

    async def _look(self) -> Overview:
        app = self._app
        async with self._looking:
            if self._seen is None or app.clock.monotonic() - self._seen[0] > CACHE_SECONDS:
                found = await overview.look(
                    app.database, app.desk, self._queues, patience_seconds=OVERVIEW_TIMEOUT_SECONDS
                )
                self._seen = app.clock.monotonic(), found
            return self._seen[1]


def _notice(request: PageRequest) -> str:
    """Return what the page reports of the action that has redirected to it."""
    action = ACTIONS.get(_last(request.query, "did"))
    count = _last(request.query, "count")
    return action.done(int(count)) if action and re.fullmatch(r"\d{1,9}", count) else ""


def _chosen(sent: Fields) -> list[str] | None:
    """Return the ids of the selected jobs; None for all."""
    if _last(sent, "all"):
        return None
    return [each for each in sent.get("id", []) if each.isprintable()]


def _last(sent: Fields, name: str) -> str:
    return sent.get(name, [""])[-1]


def _cookie(value: str, seconds: int, request: PageRequest, app: App) -> str:
    is_https = request.headers.get("X-Forwarded-Proto", "") == "https"
    return set_cookie(
        COOKIE,
        value,
        path=ROOT,
        same_site="Strict",
        seconds=seconds,
        is_secure=is_https and request.remote_ip in app.settings.trusted_proxies,
    )


def _go(path: str, *cookies: str) -> Page:
    where = {"Location": ROOT + path, **HEADERS}
    return Page(HTTPStatus.SEE_OTHER, b"", headers=where, cookies=cookies)


@lru_cache
def _static(name: str) -> Page:
    body = static_content("server.operator", name)
    headers = {**HEADERS, "Cache-Control": "no-cache"}
    return Page(HTTPStatus.OK, body, STATIC[name], headers)


def _page(template: str, *, status: int = HTTPStatus.OK, **values: Any) -> Page:
    body = _environment().get_template(template).render(root=ROOT, **values)
    return Page(status, body.encode(), headers=HEADERS)


@lru_cache(maxsize=1)
def _environment() -> "Environment":
    environment = templates_of("server.operator")
    environment.filters |= {"size": size, "moment": _moment}
    return environment


def _moment(when: datetime) -> str:
    return when.strftime("%Y-%m-%d %H:%M:%S UTC")
