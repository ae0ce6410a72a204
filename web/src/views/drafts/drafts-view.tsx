/** All drafts. */

import { i18n } from "../../i18n";
import { addressOf, go } from "../../router";
import { confirm } from "../../ui/dialog";
import { watch } from "../../ui/watch";
import { restore } from "../compose/composition";
import { allDrafts, discard, draftsVersion, type LocalDraft } from "../compose/drafts";
import { narrowOf } from "../compose/target";
import { LaterItem, LaterView } from "./later-item";

export default function DraftsView() {
  watch("drafts", "channels", "users");
  draftsVersion.value;
  const drafts = allDrafts();
  const open = (draft: LocalDraft) => {
    const narrow = narrowOf(draft.to);
    if (narrow) go(addressOf(narrow));
    // The view changes first: turning to it would show its newest draft.
    setTimeout(() => restore(draft));
  };
  const remove = async (draft: LocalDraft) => {
    const isSure = await confirm({
      title: i18n.t("Delete draft"),
      text: i18n.t("The draft will be gone for good."),
      action: i18n.t("Delete"),
      isDangerous: true,
    });
    if (isSure) discard(draft.key);
  };
  return (
    <LaterView title={i18n.t("Drafts")} count={drafts.length} empty={i18n.t("No drafts. What you begin to write is kept here until you send it.")}>
      {drafts.map((draft) => (
        <LaterItem
          key={draft.key}
          to={draft.to}
          at={draft.editedAt}
          actions={[
            { name: i18n.t("Continue writing"), run: () => open(draft) },
            { name: i18n.t("Delete"), isDangerous: true, run: () => remove(draft) },
          ]}
        >
          {draft.content}
        </LaterItem>
      ))}
    </LaterView>
  );
}
