import { state } from "../../app";
import { i18n } from "../../i18n";
import { del, patch, post } from "../../protocol/client";
import { watch } from "../../ui/watch";
import { Entry } from "../organization/entry";
import { type EntryField, EntryForm } from "../organization/entry-form";
import { FilteredList } from "./parts/table";

/** The slash commands of a bot, for those who manage it. */
export function BotCommands({ botId }: { botId: number }) {
  watch("realm");
  const commands = (state().fields.realm_slash_commands ?? []).filter((each) => each.bot_id === botId);
  const fields: EntryField[] = [
    { name: "name", label: i18n.t("Command"), max: 33, placeholder: "/deploy" },
    { name: "parameter_hint", label: i18n.t("What to write after it"), max: 100, placeholder: "[service] [version]", isOptional: true },
    { name: "description", label: i18n.t("What it does"), max: 200, isOptional: true },
  ];
  return (
    <section>
      <h3>{i18n.t("Commands")}</h3>
      <p class="faded">{i18n.t("Everyone in the organization can call them in the message box. The service answers the caller, or everyone in the conversation.")}</p>
      <EntryForm action={i18n.t("Add command")} fields={fields} save={(values) => post("/realm/slash_commands", { ...values, bot_id: botId })} />
      <FilteredList
        name={i18n.t("Commands")}
        items={commands}
        keyOf={({ id }) => id}
        textOf={({ name, description }) => `${name} ${description}`}
        empty={i18n.t("There are none yet.")}
        row={({ id, name, parameter_hint, description }) => (
          <Entry
            name={`/${name} ${parameter_hint}`.trimEnd()}
            about={description}
            reason={undefined}
            remove={() => del(`/realm/slash_commands/${id}`)}
            editing={{ fields, values: { name, parameter_hint, description }, save: (values) => patch(`/realm/slash_commands/${id}`, values) }}
          />
        )}
      />
    </section>
  );
}
