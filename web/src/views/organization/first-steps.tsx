import "../../styles/settings.css";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { realmPermits } from "../../model/permissions";
import { watch } from "../../ui/watch";

/** What to do first in an organization with one person. */
export default function FirstSteps() {
  watch("realm", "groups", "users");
  const { fields } = state();
  const steps = [
    ...(realmPermits(state(), "can_invite_users_group")
      ? [{ href: "#organization/invitations", name: i18n.t("Invite people"), about: i18n.t("By email, or with a link that you pass on.") }]
      : []),
    ...(realmPermits(state(), "can_create_public_channel_group")
      ? [{ href: "#channels/new", name: i18n.t("Make a channel"), about: i18n.t("One for each team, project or subject.") }]
      : []),
    { href: "#settings/profile", name: i18n.t("Fill in your profile"), about: i18n.t("A picture helps others to find you.") },
    { href: "#settings/bots", name: i18n.t("Connect an app"), about: i18n.t("A bot brings messages of other services.") },
  ];
  return (
    <section class="first-steps">
      <h2>{i18n.t("Welcome to {name}", { name: String(fields.realm_name ?? "") })}</h2>
      <ul class="item-list">
        {steps.map(({ href, name, about }) => (
          <li key={href}>
            <div class="item">
              <div class="item-text">
                <a class="item-name" href={href}>
                  {name}
                </a>
                <span class="item-about">{about}</span>
              </div>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
