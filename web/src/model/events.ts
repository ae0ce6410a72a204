/** The events that change the state: the server's, and what a tab does before the server answers. */

import type {
  ModernPresence,
  ReactionEvent,
  ServerEvent as QueuedEvent,
  UpdateMessageFlagsEvent,
} from "../protocol/types";

/** What a tab does before the server answers. These are in no queue, and have no ids. */
export type LocalEvent =
  | OwnFlags
  | OwnReaction
  | FetchedPresences;

/** Messages that were read in this tab. */
export type OwnFlags = { id?: undefined; type: "update_message_flags"; op: "add"; all?: false; message_details?: undefined } & Pick<
  UpdateMessageFlagsEvent,
  "flag" | "messages"
>;

/** A reaction of one's own, or its end. */
export type OwnReaction = { id?: undefined; type: "reaction"; op: "add" | "remove" } & Pick<
  ReactionEvent,
  "message_id" | "user_id" | "emoji_name" | "emoji_code" | "reaction_type"
>;

/** Presences as a ping returns them. */
export interface FetchedPresences {
  id?: undefined;
  type: "presence";
  presences: Record<string, ModernPresence>;
  presence_last_update_id: number;
}

export type ServerEvent = QueuedEvent | LocalEvent;
export type EventType = ServerEvent["type"];
export type EventOf<Type extends EventType> = Extract<ServerEvent, { type: Type }>;
