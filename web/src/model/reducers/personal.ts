import type { Changes } from "../changes";
import type { State } from "../state";
import type { Reducer, ServerEvent } from ".";

function userSettings(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("settings");
  state.settings[event.property] = event.value;
}

/** Keep a collection whose events carry whole items, or the id of one that is gone. */
function collection<Item>(
  part: "drafts" | "scheduled" | "reminders" | "snippets",
  itemsOf: (event: ServerEvent) => Item[],
  idOf: (item: Item) => number,
  removedOf: (event: ServerEvent) => number,
): Reducer {
  return (state, event, changes) => {
    changes.mark(part);
    const items = state[part] as unknown as Map<number, Item>;
    if (event.op === "remove") items.delete(removedOf(event));
    else for (const item of itemsOf(event)) items.set(idOf(item), item);
  };
}

function alertWords(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("alertWords");
  state.alertWords = event.alert_words;
}

function navigationView(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("navigationViews");
  if (event.op === "add") state.navigationViews.set(event.navigation_view.fragment, event.navigation_view);
  else if (event.op === "remove") state.navigationViews.delete(event.fragment);
  else Object.assign(state.navigationViews.get(event.fragment) ?? {}, event.data);
}

function onboardingSteps(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("onboarding");
  state.fields.onboarding_steps = event.onboarding_steps;
}

export const personalReducers: Record<string, Reducer> = {
  user_settings: userSettings,
  alert_words: alertWords,
  navigation_view: navigationView,
  onboarding_steps: onboardingSteps,
  drafts: collection("drafts", (e) => e.drafts ?? [e.draft], (item: any) => item.id, (e) => e.draft_id),
  scheduled_messages: collection(
    "scheduled",
    (e) => e.scheduled_messages ?? [e.scheduled_message],
    (item: any) => item.scheduled_message_id,
    (e) => e.scheduled_message_id,
  ),
  reminders: collection(
    "reminders",
    (e) => e.reminders ?? [e.reminder],
    (item: any) => item.reminder_id,
    (e) => e.reminder_id,
  ),
  saved_snippets: collection(
    "snippets",
    (e) => [e.saved_snippet],
    (item: any) => item.id,
    (e) => e.saved_snippet_id,
  ),
};
