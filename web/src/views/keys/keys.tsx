import { state } from "../../app";
import { i18n } from "../../i18n";
import { PAGE_KEYS } from "../../keyboard";
import { Dialog, openDialog } from "../../ui/dialog";
import type { Shortcut } from "../../ui/shortcuts";
import { formats } from "../compose/formats";
import { MESSAGE_KEYS } from "../feed/actions";
import { FEED_KEYS } from "../feed/keys";

interface Section {
  name: string;
  keys: readonly (readonly [keys: readonly string[], name: string])[];
}

/** Return the name of a key as people write it. */
function keyName(key: string): string {
  const names: Record<string, string> = {
    " ": i18n.t("Space"),
    ArrowDown: "↓",
    ArrowUp: "↑",
    PageDown: i18n.t("Page down"),
    PageUp: i18n.t("Page up"),
  };
  return names[key] ?? key.replace("Control", i18n.t("Ctrl")).replaceAll(/\+(?=.)/g, " ");
}

function listed(shortcuts: readonly Shortcut<unknown>[]): Section["keys"] {
  return shortcuts.map(({ keys, name }) => [keys, name()]);
}

function sections(): Section[] {
  return [
    {
      name: i18n.t("Everywhere"),
      keys: [
        [["Control+K"], i18n.t("Go to a channel, topic, person or view")],
        ...listed(PAGE_KEYS),
        [["Esc"], state().settings.web_escape_navigates_to_home_view ? i18n.t("Close, leave the field, or go to the home view") : i18n.t("Close, or leave the field")],
      ],
    },
    { name: i18n.t("In the feed"), keys: [...listed(FEED_KEYS), ...listed(MESSAGE_KEYS)] },
    {
      name: i18n.t("Writing"),
      keys: [
        [["Control+Enter"], i18n.t("Send")],
        ...formats().flatMap(([, , name, keys]) => (keys ? [[[keys], name] as const] : [])),
      ],
    },
  ];
}

/** Show the keys. */
export function openKeys(): void {
  openDialog((close) => (
    <Dialog title={i18n.t("Keys")} onClose={close}>
      {sections().map(({ name, keys }) => (
        <section key={name}>
          <h3>{name}</h3>
          <dl class="keys">
            {keys.map(([all, meaning]) => (
              <div key={meaning}>
                <dt>
                  {all.map((key, index) => (
                    <>
                      {index ? " / " : null}
                      <kbd>{keyName(key)}</kbd>
                    </>
                  ))}
                </dt>
                <dd>{meaning}</dd>
              </div>
            ))}
          </dl>
        </section>
      ))}
    </Dialog>
  ));
}
