/** Buttons of the compose box that an edit has no use for. */

import { i18n } from "../../i18n";
import { watch } from "../../ui/watch";
import { callProvider, startCall } from "./calls";
import { showDialog } from "./dialogs";
import { ToolButton } from "./toolbar";

export function ComposeTools() {
  watch("realm");
  const provider = callProvider();
  return (
    <>
      <ToolButton icon="snippet" label={i18n.t("Saved snippets")} onClick={() => showDialog("snippets")} />
      {provider ? (
        <>
          <ToolButton icon="video" label={i18n.t("Add a video call")} onClick={() => void startCall(provider, true)} />
          <ToolButton icon="phone" label={i18n.t("Add a voice call")} onClick={() => void startCall(provider, false)} />
        </>
      ) : null}
    </>
  );
}
