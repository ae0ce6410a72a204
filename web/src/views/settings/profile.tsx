import { state } from "../../app";
import { i18n } from "../../i18n";
import { self } from "../../model/permissions";
import { del, patch, post } from "../../protocol/client";
import { Avatar } from "../../ui/avatar";
import { watch } from "../../ui/watch";
import { OwnStatus } from "../people/own-status";
import { ProfileAnswers } from "../people/profile-answers";
import { PictureField } from "./parts/picture-field";
import { type Section, SettingsForm } from "./parts/settings";

export function youSections(): Section[] {
  return [
    {
      title: i18n.t("You"),
      settings: [
        { kind: "text", name: "full_name", label: i18n.t("Name"), max: 100 },
        { kind: "choice", name: "timezone", label: i18n.t("Time zone"), options: timezones() },
      ],
    },
  ];
}

/** Name, picture, status and profile fields of the user. */
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
        maxMib={fields.max_avatar_file_size_mib ?? 0}
        reason={pictureReason}
        upload={(file) => {
          const form = new FormData();
          form.append("file", file);
          return post("/users/me/avatar", form);
        }}
        {...(fields.avatar_source === "U" ? { remove: () => del("/users/me/avatar") } : {})}
      />
      <SettingsForm
        sections={youSections()}
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
      <ProfileAnswers user={me} />
    </>
  );
}

function timezones(): readonly (readonly [string, string])[] {
  return [["", i18n.t("Not set")], ...Intl.supportedValuesOf("timeZone").map((zone) => [zone, zone.replaceAll("_", " ")] as const)];
}
