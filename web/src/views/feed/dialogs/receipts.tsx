import { useEffect, useState } from "preact/hooks";
import { state } from "../../../app";
import { i18n } from "../../../i18n";
import { userName } from "../../../model/names";
import type { Message } from "../../../model/state";
import { get } from "../../../protocol/client";
import { Dialog } from "../../../ui/dialog";

/** Who has read a message. */
export function ReceiptsDialog({ message, onClose }: { message: Message; onClose: () => void }) {
  const [readers, setReaders] = useState<number[]>();
  const [problem, setProblem] = useState("");
  useEffect(() => {
    get<{ user_ids: number[] }>(`/messages/${message.id}/read_receipts`).then(
      (answer) => setReaders(answer.user_ids),
      (error: Error) => setProblem(error.message),
    );
  }, []);
  const sorted = readers
    ?.map((id) => ({ id, name: userName(state(), id) }))
    .sort((one, other) => one.name.localeCompare(other.name));
  return (
    <Dialog title={i18n.t("Read receipts")} size="narrow" onClose={onClose}>
      {problem ? <p class="problem" role="alert">{problem}</p> : null}
      {!sorted && !problem ? <p role="status">{i18n.t("Loading")}</p> : null}
      {sorted ? (
        <p>
          {i18n.t("{count, plural, =0 {Nobody has read this message yet.} one {# person has read this message.} other {# people have read this message.}}", {
            count: sorted.length,
          })}
        </p>
      ) : null}
      <ul class="receipts">
        {sorted?.map(({ id, name }) => {
          const avatar = state().users.get(id)?.avatar_url;
          return (
            <li key={id}>
              <a href={`#user/${id}`} onClick={onClose}>
                {avatar ? <img src={avatar} alt="" width={24} height={24} loading="lazy" /> : null}
                <bdi>{name}</bdi>
              </a>
            </li>
          );
        })}
      </ul>
      <p class="hint">{i18n.t("People who do not share what they have read are not listed.")}</p>
    </Dialog>
  );
}
