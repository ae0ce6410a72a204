/** Profile cards: what shows a name or a picture asks for one, and the part that has cards shows it. */

import { go } from "../router";

type Handler = (userId: number, anchor: Element) => void;

let handler: Handler = (userId) => go(`#user/${userId}`);

/** Show the card of a user beside an element. */
export function showUserCard(userId: number, anchor: Element): void {
  handler(userId, anchor);
}

/** Show cards by this function from now on. */
export function onUserCard(show: Handler): void {
  handler = show;
}
