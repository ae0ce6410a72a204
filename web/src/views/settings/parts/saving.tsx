import "../../../styles/settings.css";
import type { ComponentChild } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { i18n } from "../../../i18n";
import { useChangeAround } from "../../../ui/problem";

export type Saving = { kind: "idle" } | { kind: "saving" } | { kind: "saved" } | { kind: "failed"; message: string };

const SAVED_SHOWN_MS = 2500;

/** Return what became of the last request, and a function that makes one. It resolves to whether it succeeded. */
export function useSaving(): [Saving, (request: () => Promise<unknown>) => Promise<boolean>] {
  const [saving, setSaving] = useState<Saving>({ kind: "idle" });
  const latest = useRef(0);
  const timer = useRef<number | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const run = async (request: () => Promise<unknown>): Promise<boolean> => {
    const number = ++latest.current;
    const show = (next: Saving) => {
      if (number === latest.current) setSaving(next);
    };
    clearTimeout(timer.current);
    show({ kind: "saving" });
    try {
      await request();
    } catch (error) {
      show({ kind: "failed", message: (error as Error).message });
      return false;
    }
    show({ kind: "saved" });
    timer.current = window.setTimeout(() => show({ kind: "idle" }), SAVED_SHOWN_MS);
    return true;
  };
  return [saving, run];
}

/** The same for a form, which is sent once: while its request is under way, further ones are ignored. */
export function useSubmit(): [Saving, (request: () => Promise<unknown>) => Promise<boolean>] {
  const [saving, run] = useSaving();
  const isSubmitting = useRef(false);
  const submit = async (request: () => Promise<unknown>): Promise<boolean> => {
    if (isSubmitting.current) return false;
    isSubmitting.current = true;
    try {
      return await run(request);
    } finally {
      isSubmitting.current = false;
    }
  };
  return [saving, submit];
}

/** "Saved", or what the server has said, until what it was said of is changed. */
export function SaveNote({ saving, done }: { saving: Saving; done?: string }) {
  const element = useRef<HTMLSpanElement>(null);
  const [outdated, setOutdated] = useState<Saving>();
  useChangeAround(element, saving.kind === "failed" ? () => setOutdated(saving) : undefined);
  const kind = saving === outdated ? "idle" : saving.kind;
  return (
    <span ref={element} class={`save-note is-${kind}`} role={kind === "failed" ? "alert" : "status"}>
      {kind === "saved" ? (done ?? i18n.t("Saved")) : kind === "failed" ? (saving as { message: string }).message : null}
    </span>
  );
}

/** A button that makes a request, with the answer beside it. */
export function ActionButton(props: {
  name: ComponentChild;
  label?: string;
  action: () => Promise<unknown>;
  done?: string;
  kind?: "primary" | "danger" | "small" | "small danger";
  /** Why it cannot be done now. */
  reason?: string | undefined;
}) {
  const [saving, run] = useSaving();
  const isOff = Boolean(props.reason) || saving.kind === "saving";
  return (
    <>
      <button
        type="button"
        class={props.kind}
        aria-label={props.label}
        aria-disabled={isOff || undefined}
        title={props.reason}
        onClick={() => {
          if (!isOff) void run(props.action);
        }}
      >
        {props.name}
      </button>
      <SaveNote saving={saving} {...(props.done ? { done: props.done } : {})} />
    </>
  );
}
