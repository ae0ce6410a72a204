import { state } from "../../app";
import { i18n } from "../../i18n";
import { grouped, type ReactionGroup } from "../../model/emoji";
import { listed, userName } from "../../model/names";
import type { Message } from "../../model/state";
import { EmojiImage } from "../../ui/emoji";
import { watch } from "../../ui/watch";
import { openReactionPicker, toggleReaction } from "./actions";

const MAX_NAMED = 30;

/** The reactions to a message. */
export function Reactions({ message }: { message: Message }) {
  watch(`message:${message.id}`);
  if (!message.reactions.length) return null;
  return (
    <div class="reactions">
      {grouped(message.reactions).map((group) => (
        <ReactionButton key={`${group.type},${group.code}`} message={message} group={group} />
      ))}
      {state().userId ? (
        <button
          type="button"
          class="reaction reaction-add"
          data-icon="react"
          aria-label={i18n.t("Add a reaction")}
          onClick={(event) => openReactionPicker(message, event.currentTarget)}
        />
      ) : null}
    </div>
  );
}

function ReactionButton({ message, group }: { message: Message; group: ReactionGroup }) {
  const { userId } = state();
  const count = group.userIds.length;
  return (
    <button
      type="button"
      class="reaction"
      aria-pressed={group.userIds.includes(userId)}
      aria-label={`:${group.name}:, ${count}`}
      title={whoReacted(group)}
      onClick={() => void toggleReaction(message, group)}
    >
      <EmojiImage emoji={group} />
      <span class="reaction-count">{count}</span>
    </button>
  );
}

function whoReacted({ userIds, name }: ReactionGroup): string {
  const { userId } = state();
  const others = userIds.filter((id) => id !== userId).map((id) => userName(state(), id));
  const named = userIds.includes(userId) ? [i18n.t("You"), ...others] : others;
  const shown = named.slice(0, MAX_NAMED);
  const rest = named.length - shown.length;
  if (rest) shown.push(i18n.t("{rest, plural, one {# other} other {# others}}", { rest }));
  return i18n.t("{people} reacted with :{name}:", { people: listed(shown), name });
}
