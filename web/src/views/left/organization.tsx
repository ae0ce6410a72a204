import { state } from "../../app";
import { i18n } from "../../i18n";
import { watch } from "../../ui/watch";

const ICON_SIZE = 28;

/** The organization by its logo, or else by its icon and name; leads to the inbox. */
export function OrganizationLink() {
  watch("realm");
  const { realm_name: name = "", realm_icon_url, realm_logo_url, realm_logo_source, realm_night_logo_url, realm_night_logo_source } = state().fields;
  const hasLogo = realm_logo_source === "U";
  const hasNightLogo = realm_night_logo_source === "U";
  const iconAndName = (theme: string | undefined) => (
    <span class={`organization-name ${theme ?? ""}`}>
      <img src={realm_icon_url} alt="" width={ICON_SIZE} height={ICON_SIZE} />
      <strong>{name}</strong>
    </span>
  );
  const logo = (url: string | undefined, theme: string | undefined) => <img class={`organization-logo ${theme ?? ""}`} src={url} alt="" />;
  return (
    <a class="organization" href="#inbox" aria-label={name} title={i18n.t("{name}: to the inbox", { name })}>
      {hasLogo ? logo(realm_logo_url, "for-light") : iconAndName(hasNightLogo ? "for-light" : undefined)}
      {hasNightLogo ? logo(realm_night_logo_url, "for-dark") : hasLogo ? logo(realm_logo_url, "for-dark") : null}
    </a>
  );
}
