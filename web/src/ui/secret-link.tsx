import { i18n } from "../i18n";
import { copyText } from "./copy";
import { toast } from "./toast";

interface SecretLinkProps {
  label: string;
  link: string;
  /** Name of the button, and what is said once it has copied: those of a link if they are left out. */
  button?: string;
  copied?: string;
}

/** A link, or another secret, to pass on, with a button that copies it. */
export function SecretLink({ label, link, button, copied }: SecretLinkProps) {
  const copy = async () => {
    const isCopied = await copyText(link);
    toast(isCopied ? (copied ?? i18n.t("Link copied.")) : i18n.t("The browser does not allow copying."), { isProblem: !isCopied });
  };
  return (
    <span class="secret-link">
      <input type="text" readOnly class="secret" aria-label={label} value={link} onFocus={(event) => event.currentTarget.select()} />
      <button type="button" class="small" onClick={() => void copy()}>{button ?? i18n.t("Copy link")}</button>
    </span>
  );
}
