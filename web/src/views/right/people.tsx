import { state } from "../../app";
import { i18n } from "../../i18n";
import { directNarrow } from "../../model/narrow";
import { addressOf } from "../../router";
import { watch } from "../../ui/watch";

/** Who is here. */
export function People() {
  watch("users", "presence");
  const people = [...state().users.values()]
    .filter((each) => each.is_active && !each.is_bot)
    .sort((one, other) => one.full_name.localeCompare(other.full_name))
    .slice(0, 200);
  return (
    <aside class="right" aria-label={i18n.t("People")}>
      <ul>
        {people.map((user) => (
          <li key={user.user_id}>
            <a href={addressOf(directNarrow([user.user_id]))}>{user.full_name}</a>
          </li>
        ))}
      </ul>
    </aside>
  );
}
