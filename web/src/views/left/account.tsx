import { state } from "../../app";
import { i18n } from "../../i18n";
import { mayInvite } from "../../model/permissions";
import { csrfToken } from "../../protocol/client";
import { go, ground } from "../../router";
import { Avatar } from "../../ui/avatar";
import { type MenuItem, openMenu } from "../../ui/menu";
import { load } from "../../ui/lazy";
import { attempt } from "../../ui/toast";
import { watch } from "../../ui/watch";

/** The user's picture and name; opens the menu of the account. */
export function AccountButton() {
  watch("users");
  const { users, userId } = state();
  const me = users.get(userId);
  return (
    <div class="account">
      <button
        type="button"
        class="quiet account-button"
        aria-label="Account"
        aria-haspopup="menu"
        onClick={(event) => openMenu(event.currentTarget, "Account", items())}
      >
        <Avatar user={me} size={28} />
      </button>
      <span class="account-names">
        <strong>{me?.full_name}</strong>
      </span>
    </div>
  );
}

/** What spectators have in the place of an account. */
export function SignInLink() {
  const next = ground.value && encodeURIComponent(`/${location.hash}`);
  return (
    <a class="button sign-in" href={`/login/?next=${next}`}>
      {i18n.t("Sign in")}
    </a>
  );
}

function items(): MenuItem[][] {
  const invite = { name: i18n.t("Invite people"), onSelect: () => go("#organization/invitations") };
  return [
    [
      { name: i18n.t("Settings"), onSelect: () => go("#settings/profile") },
      { name: i18n.t("Organization"), onSelect: () => go("#organization") },
    ],
    [
      ...(mayInvite(state()) ? [invite] : []),
      { name: i18n.t("Keyboard shortcuts"), keys: "?", onSelect: () => void attempt(async () => (await load(() => import("../keys/keys"))).openKeys()) },
    ],
    [{ name: i18n.t("Sign out"), onSelect: signOut }],
  ];
}

/** End the session: the form of the site, which asks for the token of the page. */
function signOut(): void {
  const form = document.createElement("form");
  form.method = "post";
  form.action = "/logout";
  const token = document.createElement("input");
  token.type = "hidden";
  token.name = "csrfmiddlewaretoken";
  token.value = csrfToken();
  form.append(token);
  document.body.append(form);
  form.submit();
}
