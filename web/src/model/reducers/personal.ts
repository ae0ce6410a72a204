import type { Changes } from "../changes";
import type { NavigationView, State } from "../state";
import type { Reducer, ServerEvent } from ".";

function userSettings(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("settings");
  state.settings[event.property] = event.value;
  if (event.property === "enable_drafts_synchronization" && !event.value) {
    state.drafts.clear();
    changes.mark("drafts");
  }
}

/** Keep a collection by events that carry whole items, or the id of a removed one. */
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
  const views = state.navigationViews;
  if (event.op === "add") views.set(event.navigation_view.fragment, event.navigation_view);
  else if (event.op === "remove") views.delete(event.fragment);
  else {
    const fields = Object.entries({ ...views.get(event.fragment), ...event.data }).filter(([, value]) => value !== null);
    views.set(event.fragment, Object.fromEntries(fields) as unknown as NavigationView);
  }
}

function onboardingSteps(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("onboarding");
  state.fields.onboarding_steps = event.onboarding_steps;
}

function pushDevice(state: State, event: ServerEvent, changes: Changes): void {
  changes.mark("settings");
  const { push_account_id, status, error_code = null } = event;
  state.fields.push_devices = { ...state.fields.push_devices, [push_account_id]: { status, error_code } };
}

export const personalReducers: Record<string, Reducer> = {
  user_settings: userSettings,
  alert_words: alertWords,
  navigation_view: navigationView,
  onboarding_steps: onboardingSteps,
  push_device: pushDevice,
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
