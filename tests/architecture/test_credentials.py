"""What writes an account's credentials ends what is pending for it, in the same function."""

import ast

from testkit.sources import functions, modules

WRITES = {
    ("credentials", "update_password"),
    ("credentials", "update_api_keys"),
    ("users", "update_email"),
    ("users", "update_active"),
    ("bots", "give"),
    ("erasure", "forget_person"),
}
OPENS_AGAIN = {"server/actions/user_activation.py:reactivate_user"}
"""Nothing was pending for an account that was closed."""
THE_PLACE = "server/actions/credential_changes.py"


def calls(function: ast.AST) -> set[tuple[str, str]]:
    """Module and name of what a function calls, the module empty for bare names."""
    found = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if isinstance(node.func.value, ast.Name):
                found.add((node.func.value.id, node.func.attr))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found.add(("", node.func.id))
    return found


def writers() -> dict[str, set[tuple[str, str]]]:
    return {
        f"{path}:{function.name}": called
        for path, tree in modules().items()
        if path.startswith(("server/", "scripts/", "queue_processors/")) and path != THE_PLACE
        for function in functions(tree)
        if (called := calls(function)) & WRITES
    }


def test_who_writes_credentials_ends_what_is_pending():
    found = writers()
    assert {write for called in found.values() for write in called & WRITES} == WRITES - {
        ("credentials", "update_api_keys")  # which only the one place does
    }
    forgetful = {name for name, called in found.items() if ("", "end_pending") not in called}
    assert forgetful == OPENS_AGAIN
