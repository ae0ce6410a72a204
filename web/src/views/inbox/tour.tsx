import "../../styles/settings.css";
import { useEffect, useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { post } from "../../protocol/client";
import { attempt } from "../../ui/toast";
import { watch } from "../../ui/watch";

/** The onboarding step of the protocol for which the tour stands. */
const STEP = "intro_inbox_view_modal";

interface Stop {
  title: string;
  text: string;
  /** Selects what the stop is about. */
  target: string;
}

function stops(): readonly Stop[] {
  return [
    {
      title: i18n.t("Channels hold topics"),
      text: i18n.t("Conversations are on the left: channels with their topics, and direct messages. Each topic is read by itself, so you can leave out what does not concern you."),
      target: "#conversations",
    },
    {
      title: i18n.t("Write where it belongs"),
      text: i18n.t("Choose a channel and name a topic, or choose people. What you write is kept as a draft, also when the network or the page is gone."),
      target: ".compose",
    },
    {
      title: i18n.t("Go anywhere"),
      text: i18n.t("Ctrl K leads to channels, topics, people and views. The box at the top searches all that you can read, and ? lists the keys."),
      target: ".search-box",
    },
  ];
}

/** A tour for new users, in three stops, until they have seen or skipped it on any device. */
export default function Tour() {
  watch("onboarding");
  const [index, setIndex] = useState(0);
  const all = stops();
  const { title, text, target } = all[index]!;
  const isDue = (state().fields.onboarding_steps ?? []).some(({ name }) => name === STEP);
  useEffect(() => {
    const element = isDue ? document.querySelector(target) : null;
    element?.classList.add("tour-target");
    return () => element?.classList.remove("tour-target");
  }, [isDue, target]);
  if (!isDue) return null;
  const end = () => void attempt(() => post("/users/me/onboarding_steps", { onboarding_step: STEP }));
  const isLast = index === all.length - 1;
  return (
    <section class="first-steps" aria-label={i18n.t("Tour")}>
      <p class="faded">{i18n.t("{step} of {count}", { step: index + 1, count: all.length })}</p>
      <div aria-live="polite">
        <h2>{title}</h2>
        <p>{text}</p>
      </div>
      <div class="form-actions">
        <button type="button" class="primary" onClick={isLast ? end : () => setIndex(index + 1)}>
          {isLast ? i18n.t("Done") : i18n.t("Continue")}
        </button>
        {isLast ? null : <button type="button" onClick={end}>{i18n.t("Skip the tour")}</button>}
      </div>
    </section>
  );
}
