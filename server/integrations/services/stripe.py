"""Stripe: payments, disputes, refunds, invoices, subscriptions and payouts."""

from collections.abc import Iterator
from typing import Final

from server.integrations.alerts import FIRING, RESOLVED, WARNING, facts, moment
from server.integrations.base import Category, Delivery, Integration, Message, Outcome, Unknown
from server.integrations.markdown import (
    bold,
    bullets,
    code,
    link,
    one_line,
    paragraphs,
    text,
)
from server.integrations.payload import Payload
from server.integrations.signatures import Signature

_DASHBOARD: Final = "https://dashboard.stripe.com"
_ZERO_DECIMALS: Final = (
    *("bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "ugx", "vnd", "vuv"),
    *("xaf", "xof", "xpf"),
)
_THREE_DECIMALS: Final = ("bhd", "jod", "kwd", "omr", "tnd")
_MAX_CHANGES: Final = 10
_INTERNAL: Final = (
    "updated",
    "latest_invoice",
    "balance_transaction",
    "failure_balance_transaction",
)

_THINGS: Final = {
    "account": ("Account", "connect/accounts"),
    "charge.dispute": ("Dispute", "disputes"),
    "charge.refund": ("Refund", "refunds"),
    "charge": ("Payment", "payments"),
    "checkout.session": ("Checkout session", "checkout/sessions"),
    "customer.subscription": ("Subscription", "subscriptions"),
    "coupon": ("Coupon", "coupons"),
    "credit_note": ("Credit note", "credit_notes"),
    "customer": ("Customer", "customers"),
    "invoice": ("Invoice", "invoices"),
    "invoiceitem": ("Invoice item", "invoiceitems"),
    "payment_intent": ("Payment", "payments"),
    "payment_link": ("Payment link", "payment-links"),
    "payment_method": ("Payment method", "payment_methods"),
    "payout": ("Payout", "payouts"),
    "plan": ("Plan", "plans"),
    "price": ("Price", "prices"),
    "product": ("Product", "products"),
    "quote": ("Quote", "quotes"),
    "radar.early_fraud_warning": ("Warning of fraud", "radar/early_fraud_warnings"),
    "refund": ("Refund", "refunds"),
    "review": ("Review", "radar/reviews"),
    "setup_intent": ("Set-up of a payment method", "setup_intents"),
    "subscription_schedule": ("Subscription schedule", "subscription_schedules"),
    "topup": ("Top-up", "topups"),
    "transfer": ("Transfer", "connect/transfers"),
}
"""Name, and place in the dashboard, by what an event's name begins with."""

_CHANGED: Final = {"created": "was created", "updated": "was changed", "deleted": "was deleted"}
_VERBS: Final = {
    "account": {"updated": "was changed"},
    "charge.dispute": {
        **_CHANGED,
        "closed": "was closed",
        "funds_reinstated": "ended with the money coming back",
        "funds_withdrawn": "has withdrawn the money",
    },
    "charge.refund": {"updated": "was changed"},
    "charge": {
        "captured": "was captured",
        "expired": "has expired",
        "failed": "failed",
        "pending": "is pending",
        "refunded": "was refunded",
        "succeeded": "succeeded",
        "updated": "was changed",
    },
    "checkout.session": {
        "async_payment_failed": "was not paid",
        "async_payment_succeeded": "was paid",
        "completed": "was completed",
        "expired": "has expired",
    },
    "customer.subscription": {
        **_CHANGED,
        "deleted": "was cancelled",
        "paused": "was paused",
        "resumed": "was resumed",
        "trial_will_end": "has a trial that ends soon",
    },
    "coupon": _CHANGED,
    "credit_note": {**_CHANGED, "voided": "was voided"},
    "customer": _CHANGED,
    "invoice": {
        **_CHANGED,
        "finalized": "was finalized",
        "marked_uncollectible": "was marked as uncollectible",
        "overdue": "is overdue",
        "paid": "was paid",
        "payment_action_required": "needs an action of the customer",
        "payment_failed": "could not be paid",
        "payment_succeeded": "was paid",
        "sent": "was sent",
        "upcoming": "is coming up",
        "voided": "was voided",
        "will_be_due": "will be due soon",
    },
    "invoiceitem": _CHANGED,
    "payment_intent": {
        "amount_capturable_updated": "is authorized, and can be captured",
        "canceled": "was cancelled",
        "created": "was begun",
        "payment_failed": "failed",
        "processing": "is being processed",
        "requires_action": "needs an action of the customer",
        "succeeded": "succeeded",
    },
    "payment_link": _CHANGED,
    "payment_method": {
        "attached": "was added",
        "automatically_updated": "was updated by its network",
        "detached": "was removed",
        "updated": "was changed",
    },
    "payout": {
        **_CHANGED,
        "canceled": "was cancelled",
        "failed": "failed",
        "paid": "was paid",
        "reconciliation_completed": "was reconciled",
    },
    "plan": _CHANGED,
    "price": _CHANGED,
    "product": _CHANGED,
    "quote": {
        "accepted": "was accepted",
        "canceled": "was cancelled",
        "created": "was created",
        "finalized": "was finalized",
    },
    "radar.early_fraud_warning": {"created": "was received", "updated": "was changed"},
    "refund": {"created": "was created", "updated": "was changed", "failed": "failed"},
    "review": {"closed": "was closed", "opened": "was opened"},
    "setup_intent": {
        "canceled": "was cancelled",
        "created": "was begun",
        "requires_action": "needs an action of the customer",
        "setup_failed": "failed",
        "succeeded": "succeeded",
    },
    "subscription_schedule": {
        "aborted": "was aborted",
        "canceled": "was cancelled",
        "completed": "was completed",
        "created": "was created",
        "expiring": "ends soon",
        "released": "was released",
        "updated": "was changed",
    },
    "topup": {
        "canceled": "was cancelled",
        "created": "was begun",
        "failed": "failed",
        "reversed": "was reversed",
        "succeeded": "succeeded",
    },
    "transfer": {"created": "was made", "reversed": "was reversed", "updated": "was changed"},
}
_GOOD: Final = ("succeeded", "paid", "payment_succeeded", "completed")
_BAD: Final = ("failed", "payment_failed", "setup_failed", "async_payment_failed", "overdue")


def read(delivery: Delivery) -> Outcome:
    """Turn an event into a message."""
    payload = delivery.payload
    kind = payload["type"].required_text()
    group, _, what = kind.rpartition(".")
    verb = _VERBS.get(group, {}).get(what)
    if verb is None:
        return Unknown(kind)
    thing = payload["data"]["object"].required()
    name, place = _THINGS[group]
    identity = thing["id"].text()
    mode = "" if payload["livemode"].flag() else "/test"
    shown = link(_label(thing) or identity, f"{_DASHBOARD}{mode}/{place}/{identity}")
    amount = _amount(thing)
    of = f" of {bold(amount)}" if amount else ""
    content = paragraphs(
        f"{_mark(group, what, thing)} {name} {shown}{of} {verb}.".strip(),
        bullets(_changes(payload["data"]["previous_attributes"], thing)) or _details(thing),
    )
    return Message(_topic(group, thing), content, kind, payload["id"].text())


def _mark(group: str, what: str, thing: Payload) -> str:
    if what in _BAD or thing["status"].text() == "failed":
        return FIRING
    if group == "radar.early_fraud_warning":
        return WARNING
    if group == "charge.dispute":
        return RESOLVED if what == "closed" and thing["status"].text() == "won" else WARNING
    return RESOLVED if what in _GOOD else ""


def _topic(group: str, thing: Payload) -> str:
    """Return the topic of the customer, or else of the payment or the thing itself."""
    customer = thing["id"] if group == "customer" else thing["customer"]
    identity = customer.text() or customer["id"].text()
    if identity:
        return one_line(f"Customer {identity}")
    payment = thing["charge"].text() or thing["payment_intent"].text()
    if payment:
        return one_line(f"Payment {payment}")
    return one_line(f"{_THINGS[group][0]} {thing['id'].text()}")


def _label(thing: Payload) -> str:
    """Return what people call the thing; empty if it has an id alone."""
    return thing.first("number", "name", "email", "nickname", "description").text()


def _amount(thing: Payload) -> str:
    """Return the amount with its currency; empty for things without one."""
    currency = thing["currency"].text()
    found = thing.first("amount", "amount_due", "amount_total", "unit_amount")
    if not currency or not found:
        return ""
    decimals = 0 if currency in _ZERO_DECIMALS else 3 if currency in _THREE_DECIMALS else 2
    return f"{found.number() / 10**decimals:,.{decimals}f} {currency.upper()}"


def _changes(previous: Payload, thing: Payload) -> Iterator[str]:
    """Yield the attributes that have changed from one text, number or flag to another."""
    changes = [
        f"{text(key.replace('_', ' ').capitalize())}: {_value(old)} → {_value(thing[key])}"
        for key, old in previous.fields()
        if not len(old) and not len(thing[key]) and key not in _INTERNAL
    ]
    yield from changes[:_MAX_CHANGES]


def _value(value: Payload) -> str:
    raw = value.raw()
    if isinstance(raw, bool):
        return bold("yes" if raw else "no")
    return bold(value.text()) or "none"


def _details(thing: Payload) -> str:
    plan, items = thing["plan"], thing["items"]["data"]
    plan = plan or items[0]["plan"] or items[0]["price"]
    plan_name = plan.first("nickname", "name").text()
    interval = plan["interval"].text() or plan["recurring"]["interval"].text()
    price = _amount(plan) or _amount(thing["price"])
    quantity = thing["quantity"].text() or items[0]["quantity"].text()
    outcome = (
        thing["failure_message"].text()
        or thing.first("last_payment_error", "last_setup_error")["message"].text()
    )
    return facts(
        ("Status", text(thing["status"].text().replace("_", " "))),
        ("Reason", text(thing.first("failure_reason", "reason").text().replace("_", " "))),
        ("Message", text(outcome)),
        ("Plan", text(plan_name)),
        ("Price", text(f"{price} / {interval}" if price and interval else price)),
        ("Quantity", text(quantity)),
        ("Customer", text(thing.first("customer_email", "receipt_email").text())),
        ("Invoice", code(thing["invoice"].text())),
        ("Trial ends", moment(thing["trial_end"])),
        ("Next attempt", moment(thing["next_payment_attempt"])),
        ("Due", moment(thing["due_date"])),
        ("Arrives", moment(thing["arrival_date"])),
    )


INTEGRATIONS: Final = (
    Integration(
        name="stripe",
        display_name="Stripe",
        category=Category.SUPPORT,
        read=read,
        setup=(
            "In the dashboard, open *Developers*, *Webhooks*, *Add destination* (*Add endpoint*).\n"
            "Choose the events to post, paste `{url}` as *Endpoint URL*, and save."
        ),
        events=tuple(f"{group}.{what}" for group, verbs in _VERBS.items() for what in verbs),
        signatures=(
            Signature(
                header="Stripe-Signature",
                prefix="v1=",
                preamble="{timestamp}.",
                timestamp="Stripe-Signature",
                timestamp_prefix="t=",
            ),
        ),
        signing_step="Copy the *Signing secret* of the endpoint, which begins with `whsec_`.",
    ),
)
