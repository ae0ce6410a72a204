/** How messages follow each other: days, recipient bars, and messages of one sender together. */

import type { Message } from "../../model/state";

/** Messages of one sender within so many seconds are shown together. */
const TOGETHER_SECONDS = 600;

export interface Row {
  message: Message;
  /** Whether a recipient bar stands before it. */
  hasBar: boolean;
  /** Whether a day begins with it. */
  beginsDay: boolean;
  /** Whether it follows one of the same sender, and is shown without name and picture. */
  isContinued: boolean;
  /** Whether what is unread begins with it. */
  beginsUnread: boolean;
}

export interface Arrangement {
  /** Whether messages of several conversations are shown. */
  isCombined: boolean;
  firstUnread: number | undefined;
  mutedUsers: ReadonlySet<number>;
  /** The day of a time, as text that is equal for times of one day. */
  dayOf: (timestamp: number) => string;
}

/** Arrange messages, of which `before` is the one that precedes them. */
export function arrange(messages: readonly Message[], before: Message | undefined, given: Arrangement): Row[] {
  let previous = before;
  return messages.map((message) => {
    const row = rowOf(message, previous, given);
    previous = message;
    return row;
  });
}

function rowOf(message: Message, previous: Message | undefined, given: Arrangement): Row {
  const beginsDay = !previous || given.dayOf(previous.timestamp) !== given.dayOf(message.timestamp);
  const beginsUnread = message.id === given.firstUnread;
  const isElsewhere = !previous || !isSamePlace(previous, message);
  const hasBar = given.isCombined && (isElsewhere || beginsDay);
  const isContinued =
    !!previous &&
    !beginsDay &&
    !beginsUnread &&
    !isElsewhere &&
    previous.sender_id === message.sender_id &&
    !previous.is_me_message &&
    !message.is_me_message &&
    message.timestamp - previous.timestamp <= TOGETHER_SECONDS;
  return { message, hasBar, beginsDay, isContinued, beginsUnread };
}

function isSamePlace(one: Message, other: Message): boolean {
  if (one.type !== other.type) return false;
  if (one.type === "stream") {
    return one.stream_id === other.stream_id && one.subject.toLowerCase() === other.subject.toLowerCase();
  }
  return peopleOf(one) === peopleOf(other);
}

function peopleOf(message: Message): string {
  const people = message.display_recipient as { id: number }[];
  return people
    .map((each) => each.id)
    .sort((one, other) => one - other)
    .join(",");
}
