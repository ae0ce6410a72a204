import type { ComponentChildren } from "preact";
import { i18n } from "../../i18n";
import type { User } from "../../model/state";
import { Avatar } from "../../ui/avatar";
import { roleName } from "../settings/parts/names";

/** A person in a list: picture, name that leads to the profile, role, and what can be done. */
export function UserLine({ user, children }: { user: User; children?: ComponentChildren }) {
  return (
    <div class="item">
      <Avatar user={user} size={30} />
      <div class="item-text">
        <a class="item-name" href={`#user/${user.user_id}`}>
          {user.full_name}
        </a>
        {user.is_bot ? <span class="tag">{i18n.t("Bot")}</span> : user.role === 400 ? null : <span class="tag">{roleName(user.role)}</span>}
        {user.is_active ? null : <span class="tag">{i18n.t("Deactivated")}</span>}
        {user.delivery_email ? <span class="item-about">{user.delivery_email}</span> : null}
      </div>
      {children}
    </div>
  );
}
