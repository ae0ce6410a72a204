import type { Changes } from "../changes";
import type { EventOf } from "../events";
import type { NavigationView, State } from "../state";
import type { Reducers } from "./reducer";

function userSettings(state: State, event: EventOf<"user_settings">, changes: Changes): void {
  changes.mark("settings");
  if (event.property === "twenty_four_hour_time") changes.mark("bodies");
  state.settings[event.property] = event.value;
  if (event.property === "enable_drafts_synchronization" && !event.value) {
    state.drafts.clear();
    changes.mark("drafts");
  }
}

/** Keep items that an event carries whole. */
function keep<Item>(items: Map<number, Item>, changed: Item[], idOf: (item: Item) => number): void {
  for (const item of changed) items.set(idOf(item), item);
}

function drafts(state: State, event: EventOf<"drafts">, changes: Changes): void {
  changes.mark("drafts");
  if (event.op === "remove") state.drafts.delete(event.draft_id);
  else keep(state.drafts, event.op === "add" ? event.drafts : [event.draft], (draft) => draft.id);
}

function scheduledMessages(state: State, event: EventOf<"scheduled_messages">, changes: Changes): void {
  changes.mark("scheduled");
  if (event.op === "remove") state.scheduled.delete(event.scheduled_message_id);
  else {
    const changed = event.op === "add" ? event.scheduled_messages : [event.scheduled_message];
    keep(state.scheduled, changed, (message) => message.scheduled_message_id);
  }
}

function reminders(state: State, event: EventOf<"reminders">, changes: Changes): void {
  changes.mark("reminders");
  if (event.op === "remove") state.reminders.delete(event.reminder_id);
  else keep(state.reminders, event.reminders, (reminder) => reminder.reminder_id);
}

function savedSnippets(state: State, event: EventOf<"saved_snippets">, changes: Changes): void {
  changes.mark("snippets");
  if (event.op === "remove") state.snippets.delete(event.saved_snippet_id);
  else keep(state.snippets, [event.saved_snippet], (snippet) => snippet.id);
}

function alertWords(state: State, event: EventOf<"alert_words">, changes: Changes): void {
  changes.mark("alertWords");
  state.alertWords = event.alert_words;
}

function navigationView(state: State, event: EventOf<"navigation_view">, changes: Changes): void {
  changes.mark("navigationViews");
  const views = state.navigationViews;
  if (event.op === "add") views.set(event.navigation_view.fragment, event.navigation_view);
  else if (event.op === "remove") views.delete(event.fragment);
  else {
    const fields = Object.entries({ ...views.get(event.fragment), ...event.data }).filter(([, value]) => value !== null);
    views.set(event.fragment, Object.fromEntries(fields) as unknown as NavigationView);
  }
}

function onboardingSteps(state: State, event: EventOf<"onboarding_steps">, changes: Changes): void {
  changes.mark("onboarding");
  state.fields.onboarding_steps = event.onboarding_steps;
}

/** Keep whether the user has connected an account at a service for calls. */
function callToken(state: State, event: EventOf<"has_webex_token" | "has_zoom_token">, changes: Changes): void {
  changes.mark("realm");
  state.fields[event.type] = event.value;
}

function pushDevice(state: State, event: EventOf<"push_device">, changes: Changes): void {
  changes.mark("settings");
  const { push_account_id, status, error_code = null } = event;
  state.fields.push_devices = { ...state.fields.push_devices, [push_account_id]: { status, error_code } };
}

export const personalReducers: Reducers = {
  user_settings: userSettings,
  alert_words: alertWords,
  navigation_view: navigationView,
  onboarding_steps: onboardingSteps,
  push_device: pushDevice,
  has_webex_token: callToken,
  has_zoom_token: callToken,
  drafts,
  scheduled_messages: scheduledMessages,
  reminders,
  saved_snippets: savedSnippets,
};
