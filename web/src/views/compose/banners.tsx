/** Banners above the box: problems, and warnings. */

import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { userName } from "../../model/names";
import { addsSubscribers } from "../../model/permissions";
import type { User } from "../../model/state";
import { get, post } from "../../protocol/client";
import { Icon } from "../../ui/icons";
import { MessageHtml } from "../../ui/message-html";
import { watch } from "../../ui/watch";
import { answers, closeAnswer, placeOfAnswer } from "./commands";
import { content } from "./composition";
import { userNamed } from "./directory";
import { channelRefusal, mentionedIds } from "./rules";
import { confirming, isRefused, notice, problem, send } from "./sending";
import { isSame, type Target } from "./target";

export function Banner(props: { kind: "problem" | "warning" | "note"; children: ComponentChildren; onClose?: () => void }) {
  return (
    <div class={`banner ${props.kind}`} role={props.kind === "problem" ? "alert" : undefined}>
      {props.kind === "note" ? null : <Icon name="warning" />}
      <div class="banner-text">{props.children}</div>
      {props.onClose ? (
        <button type="button" class="bare" aria-label={i18n.t("Close the notice")} onClick={props.onClose}>
          <Icon name="close" />
        </button>
      ) : null}
    </div>
  );
}

/** What bots have answered to commands that the user called in the conversation. */
export function CommandAnswers({ to }: { to: Target | undefined }) {
  watch("users");
  const here = answers.value.filter((each) => isSame(to, placeOfAnswer(each)));
  if (!here.length) return null;
  return (
    <div class="banners command-answers" role="log" aria-label={i18n.t("Answers to commands")}>
      {here.map((each) => (
        <Banner key={each.call_id} kind={each.is_error ? "warning" : "note"} onClose={() => closeAnswer(each)}>
          <p class="command-answer-head">
            <strong>{userName(state(), each.bot_id)}</strong> /{each.command} · {i18n.t("Only you see this")}
          </p>
          <MessageHtml html={each.rendered_content} />
        </Banner>
      ))}
    </div>
  );
}

/** `refusal` says why the message cannot be sent, if it cannot. */
export function Banners({ to, refusal }: { to: Target; refusal: string | undefined }) {
  watch("channels", "users", "groups", "realm");
  const said = problem.value ?? (isRefused.value ? refusal : undefined);
  const dismiss = () => {
    problem.value = undefined;
    isRefused.value = false;
  };
  const asked = confirming.value;
  // That a command was called is said until its answer is there.
  const noted = answers.value.some(({ call_id }) => call_id === notice.value?.callId) ? undefined : notice.value;
  const cannot = standing(to);
  return (
    <div class="banners">
      {said && said !== cannot ? (
        <Banner kind="problem" onClose={dismiss}>
          {said}
        </Banner>
      ) : null}
      {noted ? (
        <Banner kind="note" onClose={() => (notice.value = undefined)}>
          <span role="status">{noted.text}</span>{" "}
          {noted.link ? <a href={noted.link}>{noted.label}</a> : null}
        </Banner>
      ) : null}
      {cannot ? <Banner kind="note">{cannot}</Banner> : null}
      {asked && asked.text === content.value ? (
        <Banner kind="warning" onClose={() => (confirming.value = undefined)}>
          <span role="status">{asked.question}</span>{" "}
          <button type="button" onClick={() => send()}>{i18n.t("Send anyway")}</button>
        </Banner>
      ) : null}
      {to.kind === "topic" && to.channelId !== undefined && !cannot ? <Unsubscribed channelId={to.channelId} /> : null}
    </div>
  );
}

/** Return why nothing at all can be sent there, which is shown before anything is written. */
function standing(to: Target): string | undefined {
  if (to.kind === "topic") {
    const channel = to.channelId === undefined ? undefined : state().channels.get(to.channelId);
    return channel && channelRefusal(state(), channel);
  }
  const gone = to.userIds.map((id) => state().users.get(id)).find((each) => each && !each.is_active);
  return gone && i18n.t("{name} has a deactivated account, and gets no messages.", { name: gone.full_name });
}

const subscribed = new Map<string, boolean>();
const CHECK_AFTER_MS = 300;

/** Whether a mentioned person is subscribed: asked once, kept until the channel is left. */
async function isSubscribed(userId: number, channelId: number): Promise<boolean> {
  const key = `${userId} ${channelId}`;
  const known = subscribed.get(key);
  if (known !== undefined) return known;
  const { is_subscribed } = await get<{ is_subscribed: boolean }>(`/users/${userId}/subscriptions/${channelId}`);
  subscribed.set(key, is_subscribed);
  return is_subscribed;
}

function Unsubscribed({ channelId }: { channelId: number }) {
  const [missing, setMissing] = useState<User[]>([]);
  const [closedFor, setClosedFor] = useState("");
  const [failed, setFailed] = useState("");
  const mentioned = mentionedIds(content.value, (name) => userNamed(name)?.user_id)
    .filter((id) => id !== state().userId)
    .join(",");
  useEffect(() => {
    setFailed("");
    if (!mentioned) {
      setMissing([]);
      return undefined;
    }
    let isCurrent = true;
    const timer = setTimeout(async () => {
      const ids = mentioned.split(",").map(Number);
      const known = await Promise.all(ids.map((id) => isSubscribed(id, channelId).catch(() => true)));
      if (isCurrent) setMissing(ids.filter((_, index) => !known[index]).flatMap((id) => state().users.get(id) ?? []));
    }, CHECK_AFTER_MS);
    return () => {
      isCurrent = false;
      clearTimeout(timer);
    };
  }, [mentioned, channelId]);
  const channel = state().channels.get(channelId);
  const key = missing.map((each) => each.user_id).join(",");
  if (!channel || !missing.length || key === closedFor) return null;
  const names = missing.map((each) => each.full_name).join(", ");
  const subscribe = async () => {
    try {
      await post("/users/me/subscriptions", {
        subscriptions: [{ name: channel.name }],
        principals: missing.map((each) => each.user_id),
      });
      for (const each of missing) subscribed.set(`${each.user_id} ${channelId}`, true);
      setMissing([]);
    } catch (error) {
      setFailed((error as Error).message);
    }
  };
  return (
    <Banner kind="warning" onClose={() => setClosedFor(key)}>
      <span>
        {i18n.t("{count, plural, one {{names} is not subscribed to {channel} and is not notified.} other {{names} are not subscribed to {channel} and are not notified.}}", {
          count: missing.length,
          names,
          channel: `#${channel.name}`,
        })}
      </span>{" "}
      {addsSubscribers(state(), channel) ? (
        <button type="button" onClick={() => void subscribe()}>{i18n.t("Subscribe them")}</button>
      ) : null}
      {failed ? <p role="alert">{failed}</p> : null}
    </Banner>
  );
}
