import { i18n } from "../../i18n";
import { Dialog, openDialog } from "../../ui/dialog";

interface Section {
  name: string;
  keys: readonly [string, string][];
}

function sections(): Section[] {
  return [
    {
      name: i18n.t("Everywhere"),
      keys: [
        ["Ctrl K", i18n.t("Go to a channel, topic, person or view")],
        ["/", i18n.t("Search")],
        ["n", i18n.t("Next unread conversation")],
        ["i", i18n.t("Inbox")],
        ["t", i18n.t("Recent conversations")],
        ["a", i18n.t("Combined feed")],
        ["@", i18n.t("Mentions")],
        ["d", i18n.t("Drafts")],
        ["?", i18n.t("This list")],
        ["Esc", i18n.t("Close, or leave the field")],
      ],
    },
    {
      name: i18n.t("In the feed"),
      keys: [
        ["j / k", i18n.t("Next, previous message")],
        ["Home / End", i18n.t("Oldest, newest message")],
        ["r", i18n.t("Reply")],
        ["R", i18n.t("Reply to the sender alone")],
        ["q", i18n.t("Quote and reply")],
        ["e", i18n.t("Edit")],
        ["+", i18n.t("React")],
        ["*", i18n.t("Star")],
        ["m", i18n.t("Move")],
        ["U", i18n.t("Mark as unread from here")],
        ["V", i18n.t("Read receipts")],
      ],
    },
    {
      name: i18n.t("Writing"),
      keys: [
        ["c", i18n.t("Write to this conversation")],
        ["C", i18n.t("New topic")],
        ["x", i18n.t("New direct message")],
        ["Ctrl B / I", i18n.t("Bold, italic")],
        ["Ctrl Shift L", i18n.t("Link")],
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
            {keys.map(([key, meaning]) => (
              <div key={key}>
                <dt>
                  <kbd>{key}</kbd>
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
