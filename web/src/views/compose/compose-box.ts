/** The text of the compose box. */

import { content, write } from "./composition";
import { replaceInDrafts } from "./drafts";
import { fields } from "./fields";
import { problem } from "./sending";
import { TextBox } from "./textarea";

export const composeBox = new TextBox(fields.Message, {
  read: () => content.peek(),
  write,
  report: (text) => (problem.value = text),
  replaceKept: replaceInDrafts,
});
