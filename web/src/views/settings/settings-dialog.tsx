import { state } from "../../app";
import { i18n } from "../../i18n";
import { patch } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import { watch } from "../../ui/watch";
import { AccountPanel } from "./account";
import { AlertWords } from "./alert-words";
import { BotsPanel } from "./bots";
import { DesktopPermission } from "./desktop-permission";
import { MutedPanel } from "./muted";
import { SectionsDialog } from "./parts/sections-dialog";
import { type Section, SettingsForm, type Source } from "./parts/settings";
import { ProfilePanel } from "./profile";
import { appearanceSections, notificationSections, privacySections } from "./sections";

const source: Source = {
  read: (name) => state().settings[name] ?? null,
  save: (name, value) => patch("/settings", { [name]: value as Json }),
  reason: (name) => {
    const { fields } = state();
    if (name === "send_read_receipts" && !fields.realm_enable_read_receipts) return i18n.t("The organization has switched read receipts off.");
    if (name === "presence_enabled" && fields.realm_presence_disabled) return i18n.t("The organization does not show activity.");
    if (name === "message_content_in_email_notifications" && !fields.realm_message_content_allowed_in_email_notifications) {
      return i18n.t("The organization does not quote messages in emails.");
    }
    return undefined;
  },
};

function Form({ sections }: { sections: Section[] }) {
  watch("settings", "realm");
  return <SettingsForm sections={sections} source={source} />;
}

/** The dialog of `#settings/...`. */
export default function SettingsDialog({ path }: { path: string[] }) {
  return (
    <SectionsDialog
      title={i18n.t("Settings")}
      base="#settings/"
      current={path[0]}
      panels={[
        { id: "profile", title: i18n.t("Profile"), render: () => <ProfilePanel /> },
        { id: "account", title: i18n.t("Account"), render: () => <AccountPanel /> },
        { id: "appearance", title: i18n.t("Appearance"), render: () => <Form sections={appearanceSections()} /> },
        {
          id: "notifications",
          title: i18n.t("Notifications"),
          render: () => (
            <>
              <DesktopPermission />
              <Form sections={notificationSections()} />
            </>
          ),
        },
        { id: "privacy", title: i18n.t("Privacy"), render: () => <Form sections={privacySections()} /> },
        { id: "alert-words", title: i18n.t("Alert words"), render: () => <AlertWords /> },
        { id: "muted", title: i18n.t("Muted"), render: () => <MutedPanel /> },
        { id: "bots", title: i18n.t("Bots"), render: () => <BotsPanel /> },
      ]}
    />
  );
}
