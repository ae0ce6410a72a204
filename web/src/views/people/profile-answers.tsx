import { state } from "../../app";
import { i18n } from "../../i18n";
import { self } from "../../model/permissions";
import type { User } from "../../model/state";
import { del, patch } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import { type Setting, SettingsForm, type Source } from "../settings/parts/settings";
import { FIELD, type ProfileField, valueOfField } from "./profile-fields";

function settingOf(field: ProfileField): Setting {
  const common = { name: String(field.id), label: field.name, ...(field.hint ? { hint: field.hint } : {}) };
  switch (field.type) {
    case FIELD.LONG_TEXT:
      return { kind: "longtext", ...common, max: 500 };
    case FIELD.DATE:
      return { kind: "date", ...common };
    case FIELD.PEOPLE:
      return { kind: "people", ...common };
    case FIELD.CHOICE: {
      const choices = Object.entries(JSON.parse(field.field_data || "{}") as Record<string, { text: string; order: string }>);
      choices.sort(([, one], [, other]) => Number(one.order) - Number(other.order));
      return { kind: "choice", ...common, options: [[null, i18n.t("Not set")], ...choices.map(([key, { text }]) => [key, text] as const)] };
    }
    case FIELD.LINK:
      return { kind: "text", ...common, max: 2000 };
    default:
      return { kind: "text", ...common, max: 50 };
  }
}

/** A person's answers to the organization's profile fields: the user's own, or, for administrators, those of everyone. */
export function ProfileAnswers({ user }: { user: User }) {
  const fields = (state().fields.custom_profile_fields ?? []) as ProfileField[];
  const me = self(state())!;
  if (!fields.length) return null;
  const find = (name: string) => fields.find((each) => String(each.id) === name)!;
  const source: Source = {
    read: (name) => valueOfField(find(name), user) ?? null,
    save: (name, value) => {
      const isEmpty = value === null || value === "" || (Array.isArray(value) && !value.length);
      const answer = [{ id: Number(name), value: isEmpty ? null : value }] as unknown as Json;
      if (user.user_id !== me.user_id) return patch(`/users/${user.user_id}`, { profile_data: answer });
      if (isEmpty) return del("/users/me/profile_data", { data: [Number(name)] });
      return patch("/users/me/profile_data", { data: answer });
    },
    reason: (name) => (find(name).editable_by_user || me.is_admin ? undefined : i18n.t("Only administrators fill this in.")),
  };
  return <SettingsForm sections={[{ title: i18n.t("Profile fields"), settings: fields.map(settingOf) }]} source={source} />;
}
