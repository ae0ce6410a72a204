/** Go to what was written on a date: `date:2026-11-20` in the search box, with or without filters. */

import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { wireTerms } from "../../model/feeds";
import type { Narrow } from "../../model/narrow";
import type { Message } from "../../model/state";
import { get } from "../../protocol/client";
import { addressOf, go } from "../../router";
import { Dialog, openDialog } from "../../ui/dialog";
import { Problem } from "../../ui/problem";
import { focusMain } from "../../ui/focus";
import { attempt } from "../../ui/toast";
import { dayStart, isoDay } from "./dates";
import { narrowOfQuery, wordsOf } from "./query";

/**
 * Go to the date of a query, in the narrow of the rest of it. Where the date is none, it is asked for.
 *
 * Resolves to the rest.
 */
export async function goToDate(query: string): Promise<string> {
  const words = wordsOf(query);
  const date = words.find((each) => each.startsWith("date:"))?.slice("date:".length) ?? "";
  const rest = words.filter((each) => !each.startsWith("date:")).join(" ");
  const narrow = narrowOfQuery(rest, state());
  if (dayStart(date) !== undefined) await show(narrow, date);
  else openDialog((close) => <DateDialog narrow={narrow} onClose={close} />);
  return rest;
}

async function show(narrow: Narrow, date: string): Promise<void> {
  const { messages } = await get<{ messages: Message[] }>("/messages", {
    anchor: "date",
    anchor_date: new Date(dayStart(date)!).toISOString(),
    num_before: 1,
    num_after: 1,
    narrow: wireTerms(narrow, !state().userId),
    allow_empty_topic_name: true,
    client_gravatar: false,
  });
  // Where nothing was written since, it is the newest message.
  const found = messages.find((each) => each.timestamp * 1000 >= dayStart(date)!) ?? messages.at(-1);
  if (!found) throw new Error(i18n.t("There are no messages here."));
  focusMain();
  go(addressOf({ ...narrow, near: found.id }));
}

function DateDialog({ narrow, onClose }: { narrow: Narrow; onClose: () => void }) {
  const [date, setDate] = useState(isoDay(Date.now()));
  const [problem, setProblem] = useState("");
  const submit = () => {
    if (dayStart(date) === undefined) {
      setProblem(i18n.t("Choose a date."));
      return;
    }
    onClose();
    void attempt(() => show(narrow, date));
  };
  return (
    <Dialog
      title={i18n.t("Go to a date")}
      size="narrow"
      onClose={onClose}
      footer={
        <>
          <button type="button" onClick={onClose}>{i18n.t("Cancel")}</button>
          <button type="submit" form="go-to-date" class="primary">{i18n.t("Go there")}</button>
        </>
      }
    >
      <form
        id="go-to-date"
        onSubmit={(event) => {
          event.preventDefault();
          submit();
        }}
      >
        <label class="field">
          <span>{i18n.t("Date")}</span>
          <input type="date" value={date} max="9999-12-31" data-autofocus onInput={(event) => setDate(event.currentTarget.value)} />
        </label>
        <p class="hint">{i18n.t("Shows the first message of that day, or the next one after it.")}</p>
        <Problem text={problem} clear={setProblem} />
      </form>
    </Dialog>
  );
}
