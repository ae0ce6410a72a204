import { state } from "../../app";
import { i18n } from "../../i18n";
import { self } from "../../model/permissions";
import { del, patch, post } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import { Avatar } from "../../ui/avatar";
import { watch } from "../../ui/watch";
import { OwnStatus } from "../people/own-status";
import { FIELD, type ProfileField, valueOfField } from "../people/profile-fields";
import { PictureField } from "./parts/picture-field";
import { type Setting, SettingsForm, type Source } from "./parts/settings";

/** Name, picture, status and profile fields of oneself. */
export function ProfilePanel() {
  watch("users", "realm", "settings");
  const me = self(state());
  const { fields } = state();
  if (!me) return null;
  const pictureReason =
    !me.is_admin && (fields.realm_avatar_changes_disabled || fields.server_avatar_changes_disabled)
      ? i18n.t("Only administrators change pictures here.")
      : undefined;
  return (
    <>
      <PictureField
        label={i18n.t("Picture")}
        picture={<Avatar user={me} size={72} />}
        maxMib={fields.max_avatar_file_size_mib}
        reason={pictureReason}
        upload={(file) => {
          const form = new FormData();
          form.append("file", file);
          return post("/users/me/avatar", form);
        }}
        {...(fields.avatar_source === "U" ? { remove: () => del("/users/me/avatar") } : {})}
      />
      <SettingsForm
        sections={[
          {
            title: i18n.t("You"),
            settings: [
              { kind: "text", name: "full_name", label: i18n.t("Name"), max: 100 },
              { kind: "choice", name: "timezone", label: i18n.t("Time zone"), options: timezones() },
            ],
          },
        ]}
        source={{
          read: (name) => (name === "timezone" ? (me.timezone ?? "") : me.full_name),
          save: (name, value) => patch("/settings", { [name]: value as string }),
          reason: (name) =>
            name === "full_name" && !me.is_admin && (fields.realm_name_changes_disabled || fields.server_name_changes_disabled)
              ? i18n.t("Only administrators change names here.")
              : undefined,
        }}
      />
      <OwnStatus />
      <ProfileAnswers />
    </>
  );
}

function timezones(): readonly (readonly [string, string])[] {
  return [["", i18n.t("Not set")], ...Intl.supportedValuesOf("timeZone").map((zone) => [zone, zone.replaceAll("_", " ")] as const)];
}

function settingOf(field: ProfileField): Setting {
  const common = { name: String(field.id), label: field.name, ...(field.hint ? { hint: field.hint } : {}) };
  switch (field.type) {
    case FIELD.LONG_TEXT:
      return { kind: "longtext", ...common };
    case FIELD.DATE:
      return { kind: "date", ...common };
    case FIELD.PEOPLE:
      return { kind: "people", ...common };
    case FIELD.CHOICE: {
      const choices = Object.entries(JSON.parse(field.field_data || "{}") as Record<string, { text: string; order: string }>);
      choices.sort(([, one], [, other]) => Number(one.order) - Number(other.order));
      return { kind: "choice", ...common, options: [[null, i18n.t("Not set")], ...choices.map(([key, { text }]) => [key, text] as const)] };
    }
    default:
      return { kind: "text", ...common };
  }
}

function ProfileAnswers() {
  const fields = (state().fields.custom_profile_fields ?? []) as ProfileField[];
  const me = self(state())!;
  if (!fields.length) return null;
  const source: Source = {
    read: (name) => {
      const field = fields.find((each) => String(each.id) === name)!;
      return valueOfField(field, me) ?? null;
    },
    save: (name, value) => {
      const isEmpty = value === null || value === "" || (Array.isArray(value) && !value.length);
      if (isEmpty) return del("/users/me/profile_data", { data: [Number(name)] });
      return patch("/users/me/profile_data", { data: [{ id: Number(name), value }] as unknown as Json });
    },
    reason: (name) =>
      fields.find((each) => String(each.id) === name)!.editable_by_user || me.is_admin ? undefined : i18n.t("Only administrators fill this in."),
  };
  return <SettingsForm sections={[{ title: i18n.t("Profile fields"), settings: fields.map(settingOf) }]} source={source} />;
}
