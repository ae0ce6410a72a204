import { i18n } from "../i18n";
import { copyText } from "./copy";
import { toast } from "./toast";

/** A link to pass on, with a button that copies it. */
export function SecretLink({ label, link }: { label: string; link: string }) {
  const copy = async () => {
    const isCopied = await copyText(link);
    toast(isCopied ? i18n.t("Link copied.") : i18n.t("The browser does not allow copying."), { isProblem: !isCopied });
  };
  return (
    <span class="secret-link">
      <input type="text" readOnly class="secret" aria-label={label} value={link} onFocus={(event) => event.currentTarget.select()} />
      <button type="button" class="small" onClick={() => void copy()}>{i18n.t("Copy link")}</button>
    </span>
  );
}
