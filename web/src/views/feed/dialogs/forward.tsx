import { useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { narrowOfMessage } from "../../../model/message-narrow";
import { channelPermits } from "../../../model/permissions";
import type { Message } from "../../../model/state";
import { get } from "../../../protocol/client";
import { addressOf } from "../../../router";
import { Dialog } from "../../../ui/dialog";
import { Problem } from "../../../ui/problem";
import { fenceFor, insert, open, type Target } from "../../compose/target";

const MAX_SHOWN = 40;

interface Choice {
  key: string;
  name: string;
  target: Target;
}

function choices(): Choice[] {
  const { channels, users, userId } = state();
  const topics: Choice[] = [...channels.values()]
    .filter((each) => !each.is_archived && each.is_subscribed && channelPermits(state(), each, "can_send_message_group"))
    .map((each) => ({ key: `c${each.stream_id}`, name: `# ${each.name}`, target: { kind: "topic", channelId: each.stream_id, topic: "" } }));
  const people: Choice[] = [...users.values()]
    .filter((each) => each.is_active && !each.is_system_bot)
    .map((each) => ({
      key: `u${each.user_id}`,
      name: each.user_id === userId ? i18n.t("{name} (you)", { name: each.full_name }) : each.full_name,
      target: { kind: "direct", userIds: [each.user_id] },
    }));
  return [...topics, ...people].sort((one, other) => one.name.localeCompare(other.name));
}

/** Forward a message: it is quoted in a new message to others. */
export function ForwardDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const [query, setQuery] = useState("");
  const [problem, setProblem] = useState("");
  const wanted = query.trim().toLowerCase();
  const found = choices().filter((each) => each.name.toLowerCase().includes(wanted)).slice(0, MAX_SHOWN);
  const forward = async ({ target }: Choice) => {
    try {
      const { message: source } = await get<{ message: { content: string } }>(`/messages/${message.id}`, { apply_markdown: false });
      const link = `${String(state().fields.realm_url ?? location.origin)}/${addressOf(narrowOfMessage(state(), message, message.id))}`;
      const fence = fenceFor(source.content);
      onClose();
      open(target, target.kind === "topic" ? "Topic" : "Message");
      const sender = `@_**${message.sender_full_name}|${message.sender_id}**`;
      insert(`${sender} [said](${link}):\n${fence}quote\n${source.content}\n${fence}\n`, true);
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <Dialog title={i18n.t("Forward")} size="narrow" onClose={onClose}>
      <input
        type="search"
        class="wide"
        data-autofocus
        dir="auto"
        aria-label={i18n.t("Channel or person")}
        placeholder={i18n.t("Channel or person")}
        value={query}
        onInput={(event) => setQuery(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter" && found[0]) void forward(found[0]);
        }}
      />
      <ul class="forward-list">
        {found.map((each) => (
          <li key={each.key}>
            <button type="button" class="menu-item" onClick={() => void forward(each)}><bdi>{each.name}</bdi></button>
          </li>
        ))}
      </ul>
      {found.length ? null : <p class="hint">{i18n.t("No channel or person of this name.")}</p>}
      <Problem text={problem} clear={setProblem} />
    </Dialog>
  );
}
