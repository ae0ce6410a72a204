/** A dialog that asks for a moment: some that make sense, and any other. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { Dialog } from "../../ui/dialog";
import { Problem } from "../../ui/problem";
import { localValue, momentsFrom, shownMoment } from "./moments";

export interface MomentDialogProps {
  title: string;
  /** The button that takes the moment. */
  action: string;
  initial?: Date;
  /** What else is asked for, before the moments. */
  children?: ComponentChildren;
  onClose: () => void;
  /** Take the moment. What it rejects with is shown. */
  onChoose: (at: Date) => Promise<void>;
}

export function MomentDialog({ title, action, initial, children, onClose, onChoose }: MomentDialogProps) {
  const [now] = useState(() => new Date());
  const [own, setOwn] = useState(localValue(initial ?? new Date(now.getTime() + 3_600_000)));
  const [problem, setProblem] = useState("");
  const [isBusy, setBusy] = useState(false);
  const choose = async (at: Date) => {
    if (isBusy) return;
    if (Number.isNaN(at.getTime()) || at.getTime() <= Date.now()) {
      setProblem(i18n.t("Choose a time in the future."));
      return;
    }
    setBusy(true);
    setProblem("");
    try {
      await onChoose(at);
      onClose();
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
    }
  };
  return (
    <Dialog title={title} size="narrow" onClose={onClose}>
      {children}
      <ul class="moments">
        {momentsFrom(now).map(({ label, at }, index) => (
          <li key={label}>
            <button type="button" data-autofocus={index ? undefined : true} onClick={() => void choose(at)}>
              <span>{label}</span> <span class="muted">{shownMoment(at)}</span>
            </button>
          </li>
        ))}
      </ul>
      <form
        class="moment-own"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void choose(new Date(own));
        }}
      >
        <label class="field">
          <span>{i18n.t("Date and time")}</span>
          <input type="datetime-local" required min={localValue(now)} value={own} onInput={(event) => setOwn(event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary" aria-disabled={isBusy}>{action}</button>
      </form>
      <Problem text={problem} clear={setProblem} />
    </Dialog>
  );
}
