import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { self } from "../../model/permissions";
import { del, get, patch } from "../../protocol/client";
import type { Answer } from "../../protocol/types";
import { confirm } from "../../ui/dialog";
import { watch } from "../../ui/watch";
import { OwnData } from "./own-data";
import { roleName } from "./parts/names";
import { PasswordField } from "./parts/password-field";
import { ActionButton, SaveNote, useSubmit } from "./parts/saving";

/** Email address, password, sessions and keys, and the end of the account. */
export function AccountPanel() {
  watch("users", "realm");
  const me = self(state());
  return (
    <>
      <dl class="facts">
        <dt>{i18n.t("Email")}</dt>
        <dd>
          {state().fields.delivery_email}
          <Unconfirmed email={state().fields.delivery_email} />
        </dd>
        <dt>{i18n.t("Role")}</dt>
        <dd>{me ? roleName(me.role) : null}</dd>
      </dl>
      <section class="setting-section">
        <h4>{i18n.t("Second factors")}</h4>
        <p class="faded">{i18n.t("Add authenticator apps and passkeys, and get recovery codes.")}</p>
        <a class="button" href="/account/second-factors">
          {i18n.t("Open the page of second factors")}
        </a>
      </section>
      <section class="setting-section">
        <h4>{i18n.t("Sessions, devices and API keys")}</h4>
        <p class="faded">{i18n.t("See where you are signed in, end sessions, and make or revoke keys for programs.")}</p>
        <a class="button" href="/account">
          {i18n.t("Open the account page")}
        </a>
      </section>
      <EmailForm />
      <PasswordForm />
      <OwnData />
      <EndAccount />
    </>
  );
}

/** Beside the address: that it is not confirmed, and where it can be. */
function Unconfirmed({ email }: { email: string | undefined }) {
  const [isConfirmed, setConfirmed] = useState(true);
  useEffect(() => {
    let isLatest = true;
    const ask = () =>
      void get<Answer<"GET /users/me">>("/users/me").then(
        // A server of the release before does not say.
        (me) => isLatest && setConfirmed(me.email_confirmed !== false),
        () => undefined,
      );
    ask();
    // It may have been confirmed on another page meanwhile.
    addEventListener("focus", ask);
    return () => {
      isLatest = false;
      removeEventListener("focus", ask);
    };
  }, [email]);
  if (isConfirmed) return null;
  return (
    <>
      {" "}
      <span class="badge">{i18n.t("not confirmed")}</span>{" "}
      <span class="setting-hint" role="status">
        {i18n.t("Until it is confirmed, it gets no emails, and no other site signs you in with it.")}{" "}
        <a href="/account#h-confirm">{i18n.t("Confirm this address")}</a>
      </span>
    </>
  );
}

function EmailForm() {
  const { fields } = state();
  const [email, setEmail] = useState("");
  const [password, setPassword] = useState("");
  const [saving, run] = useSubmit();
  const me = self(state());
  if (fields.realm_email_changes_disabled && !me?.is_admin) {
    return (
      <section class="setting-section">
        <h4>{i18n.t("Change email address")}</h4>
        <p class="faded">{i18n.t("Only administrators change email addresses here.")}</p>
      </section>
    );
  }
  return (
    <section class="setting-section">
      <h4>{i18n.t("Change email address")}</h4>
      <form
        class="small-form"
        onSubmit={(event) => {
          event.preventDefault();
          void run(() => patch("/settings", { email, old_password: password })).then((isDone) => {
            if (isDone) setPassword("");
          });
        }}
      >
        <label>
          <span>{i18n.t("New email address")}</span>
          <input type="email" required autocomplete="email" value={email} onInput={(event) => setEmail(event.currentTarget.value)} />
        </label>
        <PasswordField label={i18n.t("Your password")} autocomplete="current-password" value={password} onInput={setPassword} />
        <div class="form-actions">
          <button type="submit">{i18n.t("Change email address")}</button>
          <SaveNote saving={saving} done={i18n.t("Open the link in the email that was sent to the new address.")} />
        </div>
      </form>
    </section>
  );
}

function PasswordForm() {
  const { fields } = state();
  const [password, setPassword] = useState("");
  const [next, setNext] = useState("");
  const [saving, run] = useSubmit();
  if (!fields.realm_password_auth_enabled) return null;
  return (
    <section class="setting-section">
      <h4>{i18n.t("Change password")}</h4>
      <form
        class="small-form"
        onSubmit={(event) => {
          event.preventDefault();
          if (!next) return;
          void run(() => patch("/settings", { old_password: password, new_password: next })).then((isDone) => {
            if (!isDone) return;
            setPassword("");
            setNext("");
          });
        }}
      >
        <PasswordField label={i18n.t("Present password")} autocomplete="current-password" value={password} onInput={setPassword} />
        <PasswordField label={i18n.t("New password")} autocomplete="new-password" min={fields.password_min_length} value={next} onInput={setNext} />
        <div class="form-actions">
          <button type="submit">{i18n.t("Change password")}</button>
          <SaveNote saving={saving} done={i18n.t("Changed. All other sessions have ended.")} />
        </div>
        <p class="faded">
          <a href="/accounts/password/reset">{i18n.t("Forgotten your password?")}</a>
        </p>
      </form>
    </section>
  );
}

function EndAccount() {
  const [password, setPassword] = useState("");
  const end = async () => {
    const isSure = await confirm({
      title: i18n.t("Deactivate your account?"),
      text: i18n.t("You are signed out everywhere, and only an administrator can bring the account back. Your messages stay."),
      action: i18n.t("Deactivate"),
      isDangerous: true,
    });
    if (!isSure) return;
    await del("/users/me", { old_password: password || undefined });
    location.assign("/login/");
  };
  return (
    <section class="setting-section">
      <h4>{i18n.t("Deactivate account")}</h4>
      <div class="small-form">
        <PasswordField label={i18n.t("Your password")} autocomplete="current-password" value={password} onInput={setPassword} />
        <div class="form-actions">
          <ActionButton kind="danger" name={i18n.t("Deactivate account")} done=" " action={end} />
        </div>
      </div>
    </section>
  );
}
