/** One entry of the views of drafts, scheduled messages and reminders. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { topicName } from "../../model/names";
import { addressOf } from "../../router";
import { namesOf } from "../compose/directory";
import { shownMoment } from "../compose/moments";
import { narrowOf, type Target } from "../compose/target";
import { fullTime } from "../../ui/time";

export interface Action {
  name: string;
  isDangerous?: boolean;
  /** What it rejects with is shown. */
  run: () => void | Promise<void>;
}

/** Return the name of a conversation for people. */
export function nameOfTarget(to: Target): string {
  if (to.kind === "direct") return to.userIds.length ? i18n.t("To {names}", { names: namesOf(to.userIds) }) : i18n.t("No recipient yet");
  const channel = to.channelId === undefined ? undefined : state().channels.get(to.channelId);
  if (!channel) return to.channelId === undefined ? i18n.t("No recipient yet") : i18n.t("Unknown channel");
  return `#${channel.name} > ${topicName(state(), to.topic)}`;
}

export function LaterItem(props: {
  to: Target;
  at: number;
  atLabel?: string;
  children: ComponentChildren;
  actions: readonly Action[];
  failed?: string | undefined;
}) {
  const [problem, setProblem] = useState("");
  const when = new Date(props.at * 1000);
  const narrow = narrowOf(props.to);
  const name = nameOfTarget(props.to);
  const run = async (action: Action) => {
    setProblem("");
    try {
      await action.run();
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  return (
    <li class={props.failed ? "later-item failed" : "later-item"}>
      <div class="later-head">
        <strong dir="auto">{narrow ? <a href={addressOf(narrow)}>{name}</a> : name}</strong>
        <time dateTime={when.toISOString()} title={fullTime(when.getTime() / 1000)}>
          {props.atLabel ? `${props.atLabel} ` : ""}
          {shownMoment(when)}
        </time>
      </div>
      <div class="later-text" dir="auto">{props.children}</div>
      {props.failed ? <p class="problem" role="alert">{props.failed}</p> : null}
      <div class="later-actions">
        {props.actions.map((action) => (
          <button key={action.name} type="button" class={action.isDangerous ? "quiet-danger" : undefined} onClick={() => void run(action)}>
            {action.name}
          </button>
        ))}
      </div>
      {problem ? <p class="problem" role="alert">{problem}</p> : null}
    </li>
  );
}

/** A view with a heading and a list, or what is said while the list is empty. */
export function LaterView({ title, empty, count, children }: { title: string; empty: string; count: number; children: ComponentChildren }) {
  return (
    <div class="later-view">
      <div class="later">
        <h1>{title}</h1>
        {count ? <ul aria-label={title}>{children}</ul> : <p class="muted">{empty}</p>}
      </div>
    </div>
  );
}
