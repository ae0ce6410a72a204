/** The compose box: where it goes, what it says, and what is to be known before it is sent. */

import { useComputed, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useState } from "preact/hooks";
import { onBatch, state } from "../../app";
import { i18n } from "../../i18n";
import { topicName } from "../../model/names";
import { ground } from "../../router";
import { editLast } from "../feed/edit-last";
import { focusMain } from "../../ui/focus";
import { Icon } from "../../ui/icons";
import { lazy, load } from "../../ui/lazy";
import { watch } from "../../ui/watch";
import { Banners, CommandAnswers } from "./banners";
import { Closed, closingOf } from "./closed";
import { composeBox } from "./compose-box";
import { ComposeTools } from "./compose-tools";
import { content, follow, followDrafts, saveNow } from "./composition";
import { forgetPeople, namesOf } from "./directory";
import { dialog, hideDialog, showDialog } from "./dialogs";
import { flush } from "./drafts";
import { focusField } from "./fields";
import { insertion } from "./formatting";
import { enterSends, MessageBox } from "./message-box";
import { Preview } from "./preview";
import { Recipients } from "./recipients";
import { overLimit } from "./rules";
import { clearNotices, isRefused, refusal, send } from "./sending";
import { close, compose, hasText, isSame, open, requests, type Target, takeRequests, target, targetOfGround } from "./target";
import { Toolbar } from "./toolbar";
import { noteTyping, stopTyping } from "./typing";
import { uploadsOf } from "./upload-list";
import { useDrop, usePageDrop } from "./use-drop";

const REASON_ID = "compose-reason";
/** How near to the limit of characters it is shown. */
const SHOW_LIMIT_WITHIN = 900;

const ScheduleDialog = lazy(() => import("./schedule-dialog"));
const SnippetsDialog = lazy(() => import("./snippets-dialog"));
const Uploads = lazy(() => import("./upload-rows"));

export default function Compose() {
  return state().userId ? <UserCompose /> : <SpectatorCompose />;
}

/** What spectators see in its place. */
function SpectatorCompose() {
  const next = ground.value && encodeURIComponent(`/${location.hash}`);
  return (
    <section class="compose" aria-label="Compose">
      <a class="compose-closed" href={`/login/?next=${next}`}>
        {i18n.t("Sign in to write a message")}
      </a>
    </section>
  );
}

function UserCompose() {
  useFollowing();
  watch("channels", "users", "groups", "realm", "conversations");
  const to = target.value;
  // What was begun before, and recipients that were chosen by hand, can be changed in the box.
  const closing = to && !hasText.value && isSame(to, targetOfGround()) ? closingOf(to) : undefined;
  return (
    <section class={to ? "compose open" : "compose"} aria-label="Compose">
      <CommandAnswers to={to} />
      {to && closing ? (
        <Closed closing={closing} />
      ) : to ? (
        <>
          <Box to={to} />
          <Dialogs to={to} />
        </>
      ) : (
        <button type="button" class="compose-closed" onClick={() => compose()}>
          <Icon name="edit" />
          {i18n.t("Write a message")}
        </button>
      )}
    </section>
  );
}

/** Follow the view that is shown, and the requests of other parts of the page. */
function useFollowing(): void {
  useEffect(
    () =>
      onBatch((events) => {
        if (events.some((each) => each.type === "realm_user")) forgetPeople();
        followDrafts(events);
      }),
    [],
  );
  useSignalEffect(() => {
    const to = targetOfGround();
    // Where no conversation is shown, what was begun stays in the box.
    if (to || !content.peek().trim()) target.value = to;
  });
  useSignalEffect(() => {
    const to = target.value;
    if (follow(to)) {
      stopTyping();
      clearNotices();
    }
  });
  useLayoutEffect(() => {
    if (!requests.value.length) return;
    for (const request of takeRequests()) {
      if (request.kind === "focus") focusField(request.field);
      else {
        const { text, start, end } = composeBox.selection();
        composeBox.apply(insertion(text, start, end, request.text, request.asBlock));
      }
    }
  }, [requests.value, target.value]);
  useEffect(() => {
    const leave = () => {
      saveNow();
      flush();
      stopTyping();
    };
    const hide = () => document.visibilityState === "hidden" && leave();
    addEventListener("pagehide", leave);
    document.addEventListener("visibilitychange", hide);
    return () => {
      removeEventListener("pagehide", leave);
      document.removeEventListener("visibilitychange", hide);
    };
  }, []);
}

/** Leave the box by Esc: the focus moves out first, and a box that was opened by hand is closed. */
function escape(): void {
  const isOwn = target.peek() !== undefined && !targetOfGround();
  focusMain();
  if (isOwn || ground.peek().kind === "view") close();
}

function nameOf(to: Target): string | undefined {
  if (to.kind === "direct") return to.userIds.length ? namesOf(to.userIds) : undefined;
  const channel = to.channelId === undefined ? undefined : state().channels.get(to.channelId);
  if (!channel) return undefined;
  return `#${channel.name} > ${topicName(state(), to.topic)}`;
}

function placeholderFor(name: string | undefined): string {
  return name === undefined ? i18n.t("Write a message") : i18n.t("Message {name}", { name });
}

function Box({ to }: { to: Target }) {
  watch("channels", "users", "groups", "realm", "conversations");
  const [isPreview, setPreview] = useState(false);
  const refused = useComputed(() => refusal(target.value, content.value));
  const reason = refused.value?.reason;
  const key = to.kind === "direct" ? `direct ${to.userIds.join()}` : `topic ${to.channelId}`;
  useEffect(() => setPreview(false), [key]);
  const onFiles = (files: File[]) => {
    setPreview(false);
    void load(() => import("./uploads")).then((module) => module.attach(files, composeBox));
  };
  const { isOver, handlers } = useDrop(onFiles);
  const isOverPage = usePageDrop(onFiles);
  const isInvalid = isRefused.value && reason !== undefined;
  return (
    <div
      class={isOver || isOverPage ? "compose-box dropping" : "compose-box"}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || event.isComposing) return;
        event.preventDefault();
        event.stopPropagation();
        escape();
      }}
      {...handlers}
    >
      <Banners to={to} refusal={reason} />
      <div class="compose-head">
        <Recipients to={to} invalid={isInvalid ? refused.value?.field : undefined} />
        {targetOfGround() && target.value === to ? null : (
          <button type="button" class="bare" aria-label={i18n.t("Close")} title={i18n.t("Close: what is written stays a draft")} onClick={close}>
            <Icon name="close" />
          </button>
        )}
      </div>
      {isPreview ? (
        <Preview text={content.value} />
      ) : (
        <MessageBox
          box={composeBox}
          label="Message"
          listId="compose-completions"
          to={to}
          text={content.value}
          hasCommands
          placeholder={placeholderFor(nameOf(to))}
          describedBy={isInvalid ? REASON_ID : undefined}
          onFiles={onFiles}
          onSubmit={send}
          onTyping={noteTyping}
          onUpFromEmpty={editLast}
        />
      )}
      {uploadsOf(composeBox).length || content.value.includes("/user_uploads/") ? <Uploads box={composeBox} text={content.value} /> : null}
      <div class="compose-bar">
        <Toolbar box={composeBox} isPreview={isPreview} onPreview={() => setPreview(!isPreview)} onFiles={onFiles}>
          <ComposeTools />
        </Toolbar>
        <div class="compose-sending">
          <Remaining />
          <button
            type="button"
            class="bare tool"
            aria-label="Schedule"
            title={reason ?? i18n.t("Send later")}
            aria-disabled={reason !== undefined}
            aria-describedby={reason ? REASON_ID : undefined}
            onClick={() => (reason ? send() : showDialog("schedule"))}
          >
            <Icon name="clock" />
          </button>
          {enterSends() ? null : <span class="send-keys" aria-hidden="true">{i18n.t("Ctrl+Enter")}</span>}
          <button
            type="button"
            class="primary send"
            aria-label="Send"
            aria-disabled={reason !== undefined}
            aria-describedby={reason ? REASON_ID : undefined}
            title={reason ?? (enterSends() ? i18n.t("Send (Enter)") : i18n.t("Send (Ctrl+Enter)"))}
            onClick={() => {
              if (!send()) return;
              setPreview(false);
              open(target.peek() ?? to);
            }}
          >
            <Icon name="send" />
            <span>{i18n.t("Send")}</span>
          </button>
        </div>
      </div>
      <p id={REASON_ID} class="visually-hidden">
        {reason}
      </p>
    </div>
  );
}

/** The number of characters that are left, when there are not many. */
function Remaining() {
  const over = overLimit(state(), content.value);
  if (over < -SHOW_LIMIT_WITHIN) return null;
  return (
    <span class={over > 0 ? "remaining over" : "remaining"} role={over > 0 ? "alert" : undefined}>
      {over > 0 ? null : <span class="visually-hidden">{i18n.t("Characters left:")} </span>}
      {over > 0 ? i18n.t("{over, plural, one {# character} other {# characters}} too many", { over }) : -over}
    </span>
  );
}

function Dialogs({ to }: { to: Target }) {
  const shown = dialog.value;
  if (!shown) return null;
  const onClose = hideDialog;
  return shown === "schedule" ? <ScheduleDialog to={to} onClose={onClose} /> : <SnippetsDialog onClose={onClose} />;
}
