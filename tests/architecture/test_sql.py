"""SQL is in storage only, and what belongs to a realm is reached through the realm."""

import re
from functools import lru_cache
from pathlib import Path

import pytest

from storage.function_files import known_functions
from testkit.sources import ROOT, Function, Texts, functions, modules, modules_in

MIGRATIONS = sorted((ROOT / "storage" / "migrations").glob("*.sql"))

ACROSS_REALMS = {
    "channel_traffic.realms_to_count": "finds what is to do in all realms",
    "command_calls.forget": "by age, in all realms",
    "event_log.trim": "drops whole days",
    "event_queues.delete_expired": "by age, in all realms",
    "event_queues.touch": "takes pairs of realm and queue",
    "health.contents": "counts for the operator",
    "history._in_conversation": "puts together SQL, which names its realm",
    "message_buttons.forget": "by age, in all realms",
    "name_duplicates.realm_ids": "finds the realms that have duplicates",
    "load.progress_of_realms": "shows the operator which realms are busy",
    "loading.restore": "restores all realms, and begins an epoch of each",
    "loading._is_new": "asks whether there is any realm",
    "loading._make_log_days": "makes whole days",
    "loading._occupied": "asks whether there is any realm",
    "loading.renumbering": "asks whether a subdomain is taken",
    "notifications.late_batches": "finds what is late in all realms",
    "realms.all_of_them": "lists the realms",
    "realms.ids_of_subdomains": "finds realms",
    "realms.ids": "lists the realms",
    "done_jobs.forget": "by age, in all realms",
    "notifications.forget": "by age, in all realms",
    "realms.insert": "makes the realm",
    "realms.only_open": "finds whether the server has one organization",
    "reaction_notifications.among": "takes pairs of realm and timer",
    "reaction_notifications.due": "finds what is due in all realms",
    "reminders.among": "takes pairs of realm and timer",
    "reminders.due": "finds what is due in all realms",
    "scheduled_messages.among": "takes pairs of realm and timer",
    "scheduled_messages.due": "finds what is due in all realms",
    "retention.forget": "by age, in all realms",
    "search.lagging": "finds realms with a stale index",
    "sends.forget_idempotency_keys": "by age, in all realms",
    "mapped_groups.lacked_groups": "reports to the operator",
    "shared_addresses.fill_foldings": "fills what migrations could not, in all realms",
    "shared_addresses.shared_addresses": "reports to the operator",
    "shipping.entries_between": "takes a cursor, which names its realm",
    "shipping.lagging": "finds realms that have something to ship",
    "shipping.move": "takes a cursor, which names its realm",
    "shipping.needed_since": "finds the oldest entry that some realm needs",
    "integration_messages.forget": "by age, in all realms",
    "webhook_calls.forget": "by age, in all realms",
    "user_activity.add": "takes rows, each of which names its realm",
    "user_activity.forget": "by age, in all realms",
    "timers.next_at": "finds when something is due in some realm",
}
"""Functions on realm-owned tables that do not serve one realm, and why."""

STATEMENT = re.compile(
    r"\b(SELECT\s.+\sFROM|INSERT\s+INTO|UPDATE\s+\w+\s+SET|DELETE\s+FROM|CREATE\s+TABLE|TRUNCATE)\s",
    re.DOTALL,
)


@lru_cache(maxsize=1)
def realm_owned() -> frozenset[str]:
    """Tables with a column `realm_id`, by the migrations."""
    ddl = "\n".join(path.read_text() for path in MIGRATIONS)
    tables = re.finditer(
        r"^CREATE (?:UNLOGGED )?TABLE (?:IF NOT EXISTS )?(\w+) \((.*?)^\)",
        ddl,
        re.DOTALL | re.MULTILINE,
    )
    return frozenset(t[1] for t in tables if re.search(r"^\s*realm_id\b", t[2], re.MULTILINE))


def owned_tables_in(sql: str) -> list[str]:
    """The realm-owned tables that the SQL reads or writes, once for each mention."""
    names = "|".join(sorted(realm_owned()))
    mention = rf"\b(?:FROM|JOIN|INTO|UPDATE|TABLE|USING)\s+(?:ONLY\s+)?({names})\b"
    return re.findall(mention, sql, re.IGNORECASE)


def names_of_realm(sql: str) -> int:
    return len(re.findall(r"\brealm_id\b", sql))


def storage_functions() -> list[tuple[str, Function, list[str]]]:
    """Functions with SQL on realm-owned tables: name, definition, texts."""
    found = []
    for path, tree in modules_in("storage").items():
        texts = Texts(tree)
        for function in functions(tree):
            sql = [text for text in texts.within(function) if owned_tables_in(text)]
            if sql:
                found.append((f"{Path(path).stem}.{function.name}", function, sql))
    return found


def test_there_are_realm_owned_tables():
    assert {"messages", "users", "event_log", "subscriptions"} <= realm_owned()
    assert "rate_limits" not in realm_owned()


@pytest.mark.parametrize(
    ("name", "function", "sql"),
    [pytest.param(*found, id=found[0]) for found in storage_functions()],
)
def test_each_query_on_what_a_realm_owns_names_the_realm(name, function, sql):
    if name in ACROSS_REALMS:
        return
    arguments = {a.arg for a in (*function.args.args, *function.args.kwonlyargs)}
    assert "realm_id" in arguments, f"{name} does not take realm_id"
    for text in sql:
        assert names_of_realm(text) >= len(owned_tables_in(text)), text


def test_functions_across_realms_are_those_that_are_listed():
    assert ACROSS_REALMS.keys() <= {name for name, _, _ in storage_functions()}


SQL_WITH_FUNCTIONS = [(path.stem, path.read_text()) for path in MIGRATIONS] + [
    (file.name, file.text) for file in known_functions()
]


@pytest.mark.parametrize(
    ("name", "text"), SQL_WITH_FUNCTIONS, ids=[n for n, _ in SQL_WITH_FUNCTIONS]
)
def test_each_statement_of_a_database_function_names_the_realm(name, text):
    bodies = re.findall(r"AS \$\$(.*?)\$\$", text, re.DOTALL)
    for statement in (part for body in bodies for part in body.split(";")):
        # Partitions hold all realms' days.
        if owned_tables_in(statement) and "PARTITION" not in statement:
            assert names_of_realm(statement) or "p_realm_id" in statement, statement


def test_there_is_no_sql_outside_storage():
    for path, tree in modules().items():
        if path.startswith("storage/"):
            continue
        for text in Texts(tree).within(tree):
            assert not STATEMENT.search(text), f"{path}: {text}"


def test_no_statement_waits_for_a_lock_of_sessions():
    """It would hold a snapshot for as long as another process lives, and VACUUM back."""
    for path, tree in modules_in("storage").items():
        for text in Texts(tree).within(tree):
            assert not re.search(r"pg_advisory_lock(_shared)?\s*\(", text), f"{path}: {text}"


@pytest.mark.asyncio
async def test_the_realm_comes_first_in_each_primary_key(connection):
    firsts = await connection.tuples(
        """
        SELECT c.relname, a.attname
          FROM pg_class c
          JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
          JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
        """
    )
    first_of = dict(firsts)
    assert {table: first_of.get(table) for table in realm_owned()} == dict.fromkeys(
        realm_owned(), "realm_id"
    )
