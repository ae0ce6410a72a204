import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { self } from "../../model/permissions";
import type { User } from "../../model/state";
import { del, patch, post } from "../../protocol/client";
import { confirm, openDialog } from "../../ui/dialog";
import { ROLES, roleName } from "../settings/parts/names";
import { ActionButton } from "../settings/parts/saving";
import { BotSettings } from "../settings/bot-settings";
import { type Section, type Setting, SettingsForm } from "../settings/parts/settings";
import { DeactivateUser } from "./deactivate-user";
import { ProfileAnswers } from "./profile-answers";

/** Return what administrators change about a person or a bot. A bot's name is among its own settings. */
export function administrationSections(user: User): Section[] {
  const mayMakeOwners = self(state())?.is_owner || user.role === 100;
  const roles = ROLES.filter((role) => role !== 100 || mayMakeOwners);
  const name: Setting = { kind: "text", name: "full_name", label: i18n.t("Name"), max: 100 };
  const role: Setting = { kind: "choice", name: "role", label: i18n.t("Role"), options: roles.map((each) => [each, roleName(each)]) };
  return [{ title: i18n.t("Administration"), settings: user.is_bot ? [role] : [name, role] }];
}

/** What administrators may change about a person or a bot. */
export function ManageUser({ user }: { user: User }) {
  const me = self(state())!;
  const ownerReason = i18n.t("Only owners may do this.");
  const isBeyond = user.is_owner && !me.is_owner;
  const path = user.is_bot ? `/bots/${user.user_id}` : `/users/${user.user_id}`;
  return (
    <>
      <SettingsForm
        sections={administrationSections(user)}
        source={{
          read: (name) => user[name as "full_name" | "role"],
          save: (name, value) => patch(path, { [name]: value as string | number }),
          reason: (name) => {
            if (isBeyond) return ownerReason;
            return name === "role" && user.user_id === me.user_id && !me.is_owner ? i18n.t("You cannot change your own role.") : undefined;
          },
        }}
      />
      {isBeyond || !user.is_active ? null : user.is_bot ? <BotSettings bot={user} /> : <ProfileAnswers user={user} />}
      {user.is_bot || !user.is_active || user.user_id === me.user_id ? null : <FactorReset user={user} reason={isBeyond ? ownerReason : undefined} />}
      {user.user_id === me.user_id ? null : user.is_active ? (
        <Deactivation user={user} reason={isBeyond ? ownerReason : undefined} />
      ) : (
        <ActionButton name={i18n.t("Reactivate")} done={i18n.t("Reactivated")} action={() => post(`/users/${user.user_id}/reactivate`)} />
      )}
    </>
  );
}

/** For a person who has lost their second factors and recovery codes. */
function FactorReset({ user, reason }: { user: User; reason: string | undefined }) {
  const [isReset, setReset] = useState(false);
  const reset = async () => {
    const isSure = await confirm({
      title: i18n.t("Reset the second factors of {name}?", { name: user.full_name }),
      text: i18n.t("All second factors and recovery codes are removed. The account is signed out everywhere, and its API key is replaced."),
      action: i18n.t("Reset second factors"),
      isDangerous: true,
    });
    if (!isSure) return;
    await del(`/users/${user.user_id}/second_factors`);
    setReset(true);
  };
  return (
    <div class="form-actions">
      <ActionButton name={i18n.t("Reset second factors")} done=" " reason={reason} action={reset} />
      <span role="status">{isReset ? i18n.t("The second factors have been removed.") : null}</span>
    </div>
  );
}

function Deactivation({ user, reason }: { user: User; reason: string | undefined }) {
  const deactivate = async () => {
    if (!user.is_bot) {
      openDialog((close) => <DeactivateUser user={user} onClose={close} />);
      return;
    }
    const isSure = await confirm({
      title: i18n.t("Deactivate {name}?", { name: user.full_name }),
      text: i18n.t("The account is signed out everywhere and cannot sign in. Its messages stay. It can be reactivated."),
      action: i18n.t("Deactivate"),
      isDangerous: true,
    });
    if (isSure) await del(`/bots/${user.user_id}`);
  };
  return (
    <div class="form-actions">
      <ActionButton kind="danger" name={i18n.t("Deactivate")} done=" " reason={reason} action={deactivate} />
    </div>
  );
}
