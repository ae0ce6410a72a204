import { useEffect, useRef, useState } from "preact/hooks";
import { i18n } from "../../i18n";
import { csrfToken, del, get, post } from "../../protocol/client";
import type { ShownImport, UnfinishedImport } from "../../protocol/types";
import { confirm } from "../../ui/dialog";
import { load } from "../../ui/lazy";
import { shownSize } from "../../ui/size";
import { shortTime } from "../../ui/time";
import { userName } from "../settings/parts/names";
import { ActionButton, SaveNote, useSaving } from "../settings/parts/saving";

/** How often imports that are under way are asked for: no event tells of them. */
const LOOK_EVERY_MS = 2000;

interface Answer {
  imports: ShownImport[];
  max_bytes: number;
  unfinished: UnfinishedImport | null;
}

/** Exports of other programs, added to the organization. */
export function ImportsPanel() {
  const [answer, setAnswer] = useState<Answer>();
  const [problem, setProblem] = useState<string>();
  const look = () =>
    get<Answer>("/imports").then(
      (got) => {
        setAnswer(got);
        setProblem(undefined);
      },
      (error: Error) => setProblem(error.message),
    );
  const isUnderWay = answer?.imports.some(({ state }) => state === "reading" || state === "running") ?? false;
  useEffect(() => void look(), []);
  useEffect(() => {
    if (!isUnderWay) return;
    const timer = setInterval(() => void look(), LOOK_EVERY_MS);
    return () => clearInterval(timer);
  }, [isUnderWay]);
  const shown = answer?.imports ?? [];
  return (
    <>
      <p class="faded">
        {i18n.t("Bring people, channels and messages of Slack, Mattermost, Rocket.Chat or Zulip here: choose the file that the other program has exported. You see what is in it before anything is added.")}
      </p>
      <FileChooser maxBytes={answer?.max_bytes} onDone={() => void look()} />
      {problem ? <p class="problem">{problem}</p> : null}
      {answer?.unfinished ? <Unfinished of={answer.unfinished} onDone={() => void look()} /> : null}
      <ul class="item-list" aria-label={i18n.t("Imports")}>
        {shown.map((each) => (
          <li key={each.id}>
            <Item of={each} onDone={() => void look()} />
          </li>
        ))}
      </ul>
      {answer && !shown.length ? <p class="faded list-empty">{i18n.t("There are no imports.")}</p> : null}
      {shown.some(({ state }) => state === "done") ? <Invite /> : null}
    </>
  );
}

/** The import that keeps others from beginning. */
function Unfinished({ of: item, onDone }: { of: UnfinishedImport; onDone: () => void }) {
  const { import_id, source, started_at: time, messages_done: done, messages_total: total } = item;
  const abandon = async () => {
    const isSure = await confirm({
      title: i18n.t("Abandon the import of {source}?", { source }),
      text: i18n.t("The people, channels and messages that have come stay; the rest does not come. It cannot be continued: its file would be imported anew, beside what is there."),
      action: i18n.t("Abandon the import"),
      isDangerous: true,
    });
    if (!isSure) return;
    await post("/imports/abandon", { import_id });
    onDone();
  };
  return (
    <div class="item">
      <div class="item-text">
        <strong>{i18n.t("The import of {source} has not ended", { source })}</strong>
        <span class="item-about">
          {shortTime(time)} · {i18n.t("{done} of {total} messages", { done: shownNumber(done), total: shownNumber(total) })}
        </span>
        <p class="faded">{i18n.t("No other import can begin. If it has stopped, it continues with the same file.")}</p>
      </div>
      <ActionButton kind="small danger" name={i18n.t("Abandon…")} label={i18n.t("Abandon the import")} done=" " action={abandon} />
    </div>
  );
}

function FileChooser({ maxBytes, onDone }: { maxBytes: number | undefined; onDone: () => void }) {
  const [progress, setProgress] = useState<number>();
  const [saving, run] = useSaving();
  const field = useRef<HTMLInputElement>(null);
  const abort = useRef<() => void>(undefined);
  const send = async (file: File) => {
    if (maxBytes !== undefined && file.size > maxBytes) throw new Error(i18n.t("{name} is larger than this server takes: {size}.", { name: file.name, size: shownSize(maxBytes) }));
    const { upload } = await load(() => import("../compose/tus"));
    setProgress(0);
    try {
      await upload(file, csrfToken(), { onProgress: setProgress, onWaiting: () => undefined, onStarted: (stop) => (abort.current = stop) }, "import");
    } finally {
      setProgress(undefined);
    }
    onDone();
  };
  return (
    <div class="panel-actions">
      <input
        ref={field}
        type="file"
        hidden
        aria-label={i18n.t("File to import")}
        accept=".zip,.jsonl,.json,.gz,.tgz"
        onChange={(event) => {
          const [file] = event.currentTarget.files ?? [];
          if (file) void run(() => send(file));
          event.currentTarget.value = "";
        }}
      />
      <button type="button" class="primary" aria-disabled={progress !== undefined || undefined} onClick={() => progress === undefined && field.current?.click()}>
        {i18n.t("Choose a file…")}
      </button>
      {progress === undefined ? null : (
        <>
          <progress value={progress} max={1} aria-label={i18n.t("Upload")} />
          <button
            type="button"
            class="small"
            onClick={() => {
              abort.current?.();
              setProgress(undefined);
            }}
          >
            {i18n.t("Cancel")}
          </button>
        </>
      )}
      <SaveNote saving={saving} done={i18n.t("Uploaded")} />
    </div>
  );
}

function Item({ of: item, onDone }: { of: ShownImport; onDone: () => void }) {
  const { id, file_name: name, source, requested_at: time } = item;
  const start = async () => {
    const isSure = await confirm({
      title: i18n.t("Add {name} to this organization?", { name }),
      text: i18n.t("Its people get accounts here, its channels come as new ones. The organization can be used meanwhile. This cannot be undone."),
      action: i18n.t("Start the import"),
    });
    if (!isSure) return;
    await post(`/imports/${id}/start`);
    onDone();
  };
  const remove = async () => {
    await del(`/imports/${id}`);
    onDone();
  };
  return (
    <div class="item">
      <div class="item-text">
        <strong>
          <bdi>{name}</bdi>
        </strong>
        {source ? <span class="tag">{source}</span> : null}
        <span class="item-about">
          {userName(item.acting_user_id)} · {shortTime(time)} · {shownSize(item.size)}
        </span>
        <Stand of={item} />
        <Contents of={item} />
      </div>
      {item.state === "ready" ? <ActionButton kind="primary" name={i18n.t("Start…")} label={i18n.t("Start the import of {name}", { name })} done=" " action={start} /> : null}
      {item.state === "running" ? null : <ActionButton kind="small danger" name={i18n.t("Delete")} label={i18n.t("Delete {name} from the list", { name })} done=" " action={remove} />}
    </div>
  );
}

function Stand({ of: item }: { of: ShownImport }) {
  const { messages_done: done, messages_total: total } = item;
  switch (item.state) {
    case "reading":
      return <p class="import-stand">{i18n.t("Reading the file…")}</p>;
    case "ready":
      return <p class="import-stand">{i18n.t("Ready: nothing has been added yet.")}</p>;
    case "failed":
      return <p class="problem">{item.problem}</p>;
    case "done":
      return <p class="import-stand">{i18n.t("Done")}</p>;
    case "running":
      return (
        <p class="import-stand">
          {item.phase === "messages" ? (
            <>
              <progress value={done} max={Math.max(1, total)} aria-label={i18n.t("Messages")} />{" "}
              {i18n.t("{done} of {total} messages", { done: shownNumber(done), total: shownNumber(total) })}
            </>
          ) : item.phase === "finishing" ? (
            i18n.t("Linking messages, and making thumbnails…")
          ) : (
            i18n.t("Adding people and channels…")
          )}
        </p>
      );
  }
}

const shownNumber = (value: number) => new Intl.NumberFormat(i18n.locale).format(value);

function Contents({ of: item }: { of: ShownImport }) {
  if (!item.contents) return null;
  const { imported, remarks, labels } = item.contents;
  return (
    <details>
      <summary>{item.state === "done" ? i18n.t("What was imported") : i18n.t("What is in it")}</summary>
      <dl class="facts">
        {Object.entries(imported).map(([what, count]) => (
          <>
            <dt>{labels[what] ?? what}</dt>
            <dd>{shownNumber(count)}</dd>
          </>
        ))}
      </dl>
      {remarks.length ? (
        <ul class="import-remarks">
          {remarks.map(({ reason, text, count, examples }) => (
            <li key={reason}>
              {shownNumber(count)}: {text}
              {examples.length ? <bdi class="faded"> ({examples.slice(0, 3).join(", ")})</bdi> : null}
            </li>
          ))}
        </ul>
      ) : null}
    </details>
  );
}

/** Email all who were imported. */
function Invite() {
  const invite = async () => {
    const isSure = await confirm({
      title: i18n.t("Invite all imported people?"),
      text: i18n.t("Each of them who has no password yet gets an email with a link to choose one."),
      action: i18n.t("Send the emails"),
    });
    if (isSure) await post("/imports/invitations");
  };
  return (
    <div class="panel-actions">
      <ActionButton name={i18n.t("Invite all imported people…")} done=" " action={invite} />
    </div>
  );
}
