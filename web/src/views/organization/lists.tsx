import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { realmPermits } from "../../model/permissions";
import { del, patch, post } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import type { Linkifier, Playground, RealmDomain, RealmEmoji } from "../../protocol/types";
import { LimitedText } from "../../ui/limited-text";
import { watch } from "../../ui/watch";
import { FIELD, type ProfileField } from "../people/profile-fields";
import { userName } from "../settings/parts/names";
import { ActionButton, SaveNote, useSubmit } from "../settings/parts/saving";
import { FilteredList } from "../settings/parts/table";
import { Entry, MoveButtons, moved } from "./entry";
import { type EntryField, EntryForm } from "./entry-form";
import { whyNotAdmin } from "./source";

export function LinkifiersPanel() {
  watch("linkifiers", "realm");
  const linkifiers = (state().fields.realm_linkifiers ?? []) as Linkifier[];
  const reason = whyNotAdmin();
  const fields: EntryField[] = [
    { name: "pattern", label: i18n.t("Pattern"), max: 1000, placeholder: "#(?P<id>[0-9]+)" },
    { name: "url_template", label: i18n.t("Address"), max: 2000, placeholder: "https://example.com/issues/{id}" },
    { name: "example_input", label: i18n.t("Example"), max: 2000, placeholder: "#123", isOptional: true },
    { name: "reverse_template", label: i18n.t("Text for a pasted link"), max: 2000, placeholder: "#{id}", isOptional: true },
  ];
  return (
    <>
      <p class="faded">{i18n.t("Text that fits a pattern becomes a link, such as #123 to an issue. Where several fit, the first one counts.")}</p>
      {reason ? null : <EntryForm action={i18n.t("Add linkifier")} fields={fields} save={(values) => post("/realm/filters", values)} />}
      <FilteredList
        name={i18n.t("Linkifiers")}
        items={linkifiers}
        keyOf={({ id }) => id}
        textOf={({ pattern, url_template }) => `${pattern} ${url_template}`}
        empty={i18n.t("There are none yet.")}
        row={(each) => {
          const index = linkifiers.indexOf(each);
          const { id, pattern, url_template, example_input, reverse_template } = each;
          const values = { pattern, url_template, example_input: example_input ?? "", reverse_template: reverse_template ?? "" };
          const move = (to: number) => patch("/realm/linkifiers", { ordered_linkifier_ids: moved(linkifiers, index, to).map((one) => one.id) });
          return (
            <Entry
              name={pattern}
              about={url_template}
              reason={reason}
              remove={() => del(`/realm/filters/${id}`)}
              editing={{ fields, values, save: (wanted) => patch(`/realm/filters/${id}`, wanted) }}
            >
              {reason ? null : <MoveButtons name={pattern} index={index} count={linkifiers.length} move={move} />}
            </Entry>
          );
        }}
      />
    </>
  );
}

export function PlaygroundsPanel() {
  watch("realm");
  const playgrounds = (state().fields.realm_playgrounds ?? []) as Playground[];
  const reason = whyNotAdmin();
  return (
    <>
      <p class="faded">{i18n.t("Code blocks of a language get a link that opens the code elsewhere.")}</p>
      {reason ? null : (
        <EntryForm
          action={i18n.t("Add playground")}
          fields={[
            { name: "pygments_language", label: i18n.t("Language"), max: 40, placeholder: "Python" },
            { name: "name", label: i18n.t("Name"), max: 100 },
            { name: "url_template", label: i18n.t("Address"), max: 2000, placeholder: "https://example.com/run?code={code}" },
          ]}
          save={(values) => post("/realm/playgrounds", values)}
        />
      )}
      <FilteredList
        name={i18n.t("Code playgrounds")}
        items={playgrounds}
        keyOf={({ id }) => id}
        textOf={(each) => `${each.name} ${each.pygments_language}`}
        empty={i18n.t("There are none yet.")}
        row={(each) => (
          <Entry name={`${each.pygments_language}: ${each.name}`} about={each.url_template} reason={reason} remove={() => del(`/realm/playgrounds/${each.id}`)} />
        )}
      />
    </>
  );
}

export function DomainsPanel() {
  watch("realm");
  const domains = (state().fields.realm_domains ?? []) as RealmDomain[];
  const reason = state().fields.is_owner ? undefined : i18n.t("Only owners may change this.");
  return (
    <>
      <p class="faded">{i18n.t("With these domains in their email addresses people may join, where joining is restricted to domains.")}</p>
      {reason ? (
        <p class="faded">{reason}</p>
      ) : (
        <EntryForm
          action={i18n.t("Add domain")}
          fields={[
            { name: "domain", label: i18n.t("Domain"), max: 253, placeholder: "example.com" },
            { name: "subdomains", label: i18n.t("Subdomains"), options: [["no", i18n.t("Do not count")], ["yes", i18n.t("Count, too")]] },
          ]}
          save={({ domain, subdomains }) => post("/realm/domains", { domain, allow_subdomains: subdomains === "yes" })}
        />
      )}
      <FilteredList
        name={i18n.t("Domains")}
        items={domains}
        keyOf={({ domain }) => domain}
        textOf={({ domain }) => domain}
        empty={i18n.t("There are none yet.")}
        row={({ domain, allow_subdomains }) => (
          <Entry
            name={domain}
            about={allow_subdomains ? i18n.t("With its subdomains") : undefined}
            reason={reason}
            remove={() => del(`/realm/domains/${encodeURIComponent(domain)}`)}
          />
        )}
      />
    </>
  );
}

export function EmojiPanel() {
  watch("emoji", "realm", "users");
  const { fields, userId } = state();
  const emoji = Object.values((fields.realm_emoji ?? {}) as Record<string, RealmEmoji>).filter(({ deactivated }) => !deactivated);
  return (
    <>
      {realmPermits(state(), "can_add_custom_emoji_group") ? <AddEmoji /> : <p class="faded">{i18n.t("You may not add emoji here.")}</p>}
      <FilteredList
        name={i18n.t("Emoji")}
        items={emoji}
        keyOf={({ id }) => id}
        textOf={({ name }) => name}
        empty={i18n.t("There are none yet.")}
        row={({ name, source_url, author_id }) => (
          <Entry
            name={`:${name}:`}
            about={i18n.t("By {name}", { name: userName(author_id) })}
            picture={<img src={source_url} alt="" width={26} height={26} loading="lazy" />}
            reason={author_id === userId ? undefined : whyNotAdmin()}
            remove={() => del(`/realm/emoji/${encodeURIComponent(name)}`)}
          />
        )}
      />
    </>
  );
}

function AddEmoji() {
  const [name, setName] = useState("");
  const [file, setFile] = useState<File>();
  const [saving, run] = useSubmit();
  return (
    <form
      class="small-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!file) return;
        const form = new FormData();
        form.append("file", file);
        const element = event.currentTarget;
        void run(() => post(`/realm/emoji/${encodeURIComponent(name.trim())}`, form)).then((isDone) => {
          if (!isDone) return;
          element.reset();
          setName("");
          setFile(undefined);
        });
      }}
    >
      <label>
        <span>{i18n.t("Name")}</span>
        <LimitedText required autocomplete="off" max={100} value={name} onText={setName} />
      </label>
      <label>
        <span>{i18n.t("Picture")}</span>
        <input type="file" required accept="image/*" onChange={(event) => setFile(event.currentTarget.files?.[0])} />
      </label>
      <div class="form-actions">
        <button type="submit" class="primary">
          {i18n.t("Add emoji")}
        </button>
        <SaveNote saving={saving} />
      </div>
    </form>
  );
}

function fieldKinds(): readonly (readonly [string, string])[] {
  return [
    [String(FIELD.SHORT_TEXT), i18n.t("Short text")],
    [String(FIELD.LONG_TEXT), i18n.t("Long text")],
    [String(FIELD.CHOICE), i18n.t("Choice")],
    [String(FIELD.DATE), i18n.t("Date")],
    [String(FIELD.LINK), i18n.t("Link")],
    [String(FIELD.PEOPLE), i18n.t("People")],
    [String(FIELD.PRONOUNS), i18n.t("Pronouns")],
  ];
}

/** What the server takes of a field's choices. */
const MAX_CHOICES = 200;
const MAX_CHOICE_LENGTH = 50;

function choiceTexts(text: string): string[] {
  return text.split(",").map((each) => each.trim()).filter(Boolean);
}

/** Return the choices of a field in their wire form, from texts separated by commas. */
function choicesOf(text: string): Json {
  return Object.fromEntries(choiceTexts(text).map((each, index) => [String(index), { text: each, order: String(index + 1) }]));
}

/** Return what is wrong with choices that are written; undefined if nothing. */
export function problemOfChoices(text: string): string | undefined {
  const texts = choiceTexts(text);
  const long = texts.find((each) => [...each].length > MAX_CHOICE_LENGTH);
  if (long !== undefined) return i18n.t("A choice has at most {max} characters: “{choice}” has more.", { max: MAX_CHOICE_LENGTH, choice: long });
  if (texts.length > MAX_CHOICES) return i18n.t("A field has at most {max} choices.", { max: MAX_CHOICES });
  const twice = texts.find((each, index) => texts.indexOf(each) !== index);
  return twice === undefined ? undefined : i18n.t("“{choice}” is there twice.", { choice: twice });
}

export function FieldsPanel() {
  watch("realm");
  const fields = (state().fields.custom_profile_fields ?? []) as ProfileField[];
  const reason = whyNotAdmin();
  const kinds = new Map(fieldKinds());
  return (
    <>
      {reason ? null : (
        <EntryForm
          action={i18n.t("Add field")}
          fields={[
            { name: "name", label: i18n.t("Name"), max: 40 },
            { name: "field_type", label: i18n.t("Kind"), options: fieldKinds() },
            { name: "hint", label: i18n.t("Hint"), max: 80, isOptional: true },
            {
              name: "choices",
              label: i18n.t("Choices"),
              max: undefined,
              hint: i18n.t("Only for a choice, separated by commas: at most {count}, each of {max} characters", { count: MAX_CHOICES, max: MAX_CHOICE_LENGTH }),
              isOptional: true,
              problemOf: (text, { field_type }) => (Number(field_type) === FIELD.CHOICE ? problemOfChoices(text) : undefined),
            },
          ]}
          save={({ name, field_type, hint, choices }) =>
            post("/realm/profile_fields", {
              name,
              hint,
              field_type: Number(field_type),
              ...(Number(field_type) === FIELD.CHOICE ? { field_data: choicesOf(choices ?? "") } : {}),
            })
          }
        />
      )}
      <FilteredList
        name={i18n.t("Profile fields")}
        items={fields}
        keyOf={({ id }) => id}
        textOf={({ name }) => name}
        empty={i18n.t("There are none yet.")}
        row={(field) => (
          <Entry name={field.name} about={kinds.get(String(field.type))} reason={reason} remove={() => del(`/realm/profile_fields/${field.id}`)}>
            {reason ? null : (
              <ActionButton
                kind="small"
                name={field.required ? i18n.t("Make optional") : i18n.t("Make required")}
                label={field.required ? i18n.t("Make optional: {name}", { name: field.name }) : i18n.t("Make required: {name}", { name: field.name })}
                done=" "
                action={() => patch(`/realm/profile_fields/${field.id}`, { required: !field.required })}
              />
            )}
          </Entry>
        )}
      />
    </>
  );
}
