import { useState } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR } from "../../model/counts";
import { admits, realmPermits } from "../../model/permissions";
import type { Group } from "../../model/state";
import { patch, post } from "../../protocol/client";
import type { Json } from "../../protocol/json";
import { go } from "../../router";
import { confirm, Dialog } from "../../ui/dialog";
import { Icon } from "../../ui/icons";
import { watch } from "../../ui/watch";
import { UserLine } from "../people/user-line";
import { groupName } from "../settings/parts/names";
import { AddPeople } from "../settings/parts/add-people";
import { ActionButton } from "../settings/parts/saving";
import { SectionsDialog } from "../settings/parts/sections-dialog";
import { type Section, type Setting, SettingsForm, type Source } from "../settings/parts/settings";
import { FilteredList } from "../settings/parts/table";
import { closeUnlessEditing } from "../settings/parts/unsaved";
import { EntryForm } from "../organization/entry-form";
import { withUses } from "./uses";

/** Groups of roles that have no accounts: they are values of permissions. */
const HOLD_NOBODY = new Set(["role:nobody", "role:internet"]);

/** The dialog of `#groups/...`: all groups, or one. */
export default function GroupsDialog({ path }: { path: string[] }) {
  watch("groups", "users", "realm");
  const [head = "", ...rest] = path;
  const group = /^\d+$/.test(head) ? state().groups.get(Number(head)) : undefined;
  return group ? <GroupPage group={group} panel={rest.at(-1)} /> : <BrowseGroups />;
}

function BrowseGroups() {
  const [isCreating, setCreating] = useState(false);
  const groups = [...state().groups.values()]
    .filter((each) => !each.is_system_group)
    .sort((one, other) => Number(one.deactivated) - Number(other.deactivated) || COLLATOR.compare(one.name, other.name));
  return (
    <Dialog title={i18n.t("Groups")} size="wide" onClose={() => void closeUnlessEditing()}>
      <div class="browse">
        {isCreating ? (
          <EntryForm
            action={i18n.t("Create")}
            onCancel={() => setCreating(false)}
            fields={[
              { name: "name", label: i18n.t("Name"), max: 100 },
              { name: "description", label: i18n.t("Description"), max: 1024, isOptional: true },
            ]}
            save={async (values) => {
              const { group_id } = await post<{ group_id: number }>("/user_groups/create", { ...values, members: [state().userId] });
              go(`#groups/${group_id}/members`);
            }}
          />
        ) : null}
        <FilteredList
          name={i18n.t("Groups")}
          items={groups}
          keyOf={({ id }) => id}
          textOf={({ name, description }) => `${name} ${description}`}
          empty={i18n.t("There are no groups yet. A group can be mentioned, and given permissions.")}
          row={(group) => (
            <div class="item">
              <Icon name="people" />
              <div class="item-text">
                <a class="item-name" href={`#groups/${group.id}/general`}>
                  {group.name}
                </a>
                {group.deactivated ? <span class="tag">{i18n.t("Deactivated")}</span> : null}
                <span class="item-about">
                  {i18n.t("{count, plural, one {# member} other {# members}}", { count: group.members.length })}
                  {group.description ? ` · ${group.description}` : null}
                </span>
              </div>
              <Membership group={group} />
            </div>
          )}
        >
          {realmPermits(state(), "can_create_groups") && !isCreating ? (
            <button type="button" class="primary" onClick={() => setCreating(true)}>
              {i18n.t("Create group")}
            </button>
          ) : null}
        </FilteredList>
      </div>
    </Dialog>
  );
}

const managesGroup = (group: Group) => admits(state(), group.can_manage_group) || realmPermits(state(), "can_manage_all_groups");

function Membership({ group }: { group: Group }) {
  const { userId } = state();
  const path = `/user_groups/${group.id}/members`;
  if (group.deactivated) return null;
  const isManager = managesGroup(group);
  if (group.members.includes(userId)) {
    const mayLeave = isManager || admits(state(), group.can_leave_group) || admits(state(), group.can_remove_members_group);
    return (
      <ActionButton
        kind="small"
        name={i18n.t("Leave")}
        label={i18n.t("Leave {name}", { name: group.name })}
        done=" "
        reason={mayLeave ? undefined : i18n.t("You may not leave this group by yourself.")}
        action={() => post(path, { delete: [userId] })}
      />
    );
  }
  const mayJoin = isManager || admits(state(), group.can_join_group) || admits(state(), group.can_add_members_group);
  return (
    <ActionButton
      kind="small"
      name={i18n.t("Join")}
      label={i18n.t("Join {name}", { name: group.name })}
      done=" "
      reason={mayJoin ? undefined : i18n.t("You may not join this group by yourself.")}
      action={() => post(path, { add: [userId] })}
    />
  );
}

function sourceOf(group: Group): Source {
  return {
    read: (name) => group[name as keyof Group],
    save: (name, value) => {
      const changed = name.startsWith("can_") ? { new: value, old: group[name as keyof Group] } : value;
      return patch(`/user_groups/${group.id}`, { [name]: changed as unknown as Json });
    },
    reason: () => {
      if (group.deactivated) return i18n.t("This group is deactivated.");
      return managesGroup(group) ? undefined : i18n.t("Only those who manage this group may change this.");
    },
  };
}

export function aboutSections(): Section[] {
  return [
    {
      title: i18n.t("About the group"),
      settings: [
        { kind: "text", name: "name", label: i18n.t("Name"), max: 100 },
        { kind: "longtext", name: "description", label: i18n.t("Description"), max: 1024 },
      ],
    },
  ];
}

export function permissionSections(): Section[] {
  const setting = (name: string, label: string): Setting => ({ kind: "group", of: "group", name, label });
  return [
    {
      title: i18n.t("The group"),
      settings: [
        setting("can_manage_group", i18n.t("May manage it")),
        setting("can_mention_group", i18n.t("May mention it")),
        setting("can_add_members_group", i18n.t("May add members")),
        setting("can_remove_members_group", i18n.t("May remove members")),
        setting("can_join_group", i18n.t("May join")),
        setting("can_leave_group", i18n.t("May leave")),
      ],
    },
  ];
}

function GroupPage({ group, panel }: { group: Group; panel: string | undefined }) {
  const source = sourceOf(group);
  return (
    <SectionsDialog
      title={groupName(group)}
      base={`#groups/${group.id}/`}
      current={panel}
      panels={[
        { id: "general", title: i18n.t("General"), render: () => <General group={group} source={source} /> },
        { id: "members", title: i18n.t("Members"), render: () => <Members group={group} /> },
        {
          id: "permissions",
          title: i18n.t("Permissions"),
          render: () => <SettingsForm source={source} sections={permissionSections()} />,
        },
      ]}
    />
  );
}

function General({ group, source }: { group: Group; source: Source }) {
  const deactivate = async () => {
    const isSure = await confirm({
      title: i18n.t("Deactivate {name}?", { name: group.name }),
      text: i18n.t("It can no longer be mentioned or given permissions. It can be reactivated."),
      action: i18n.t("Deactivate"),
      isDangerous: true,
    });
    if (!isSure) return;
    await post(`/user_groups/${group.id}/deactivate`).catch((error: unknown) => {
      throw withUses(error);
    });
  };
  const reason = managesGroup(group) ? undefined : i18n.t("Only those who manage this group may change this.");
  return (
    <>
      <div class="panel-actions">
        <Membership group={group} />
        <a class="button small" href="#groups">
          {i18n.t("All groups")}
        </a>
      </div>
      <SettingsForm source={source} sections={aboutSections()} />
      {group.is_system_group ? null : group.deactivated ? (
        <ActionButton name={i18n.t("Reactivate group")} reason={reason} action={() => patch(`/user_groups/${group.id}`, { deactivated: false })} />
      ) : (
        <ActionButton kind="danger" name={i18n.t("Deactivate group")} done=" " reason={reason} action={deactivate} />
      )}
    </>
  );
}

/** Return whether a group is in another one, directly or through groups between them. */
function isWithin(id: number, outerId: number): boolean {
  const inner = state().groups.get(outerId)?.direct_subgroup_ids ?? [];
  return inner.includes(id) || inner.some((each) => isWithin(id, each));
}

function Members({ group }: { group: Group }) {
  watch("groups", "users");
  const { users, groups } = state();
  const [subgroup, setSubgroup] = useState("");
  const path = `/user_groups/${group.id}/members`;
  const isFixed = group.is_system_group || group.deactivated;
  const mayAdd = !isFixed && (managesGroup(group) || admits(state(), group.can_add_members_group));
  const mayRemove = !isFixed && (managesGroup(group) || admits(state(), group.can_remove_members_group));
  const members = group.members.flatMap((id) => users.get(id) ?? []).sort((one, other) => COLLATOR.compare(one.full_name, other.full_name));
  // Groups cannot contain each other.
  const isTaken = (id: number) => id === group.id || group.direct_subgroup_ids.includes(id) || isWithin(group.id, id);
  const others = [...groups.values()].filter((each) => !each.deactivated && !isTaken(each.id) && !HOLD_NOBODY.has(each.name));
  return (
    <>
      {mayAdd ? (
        <>
          <AddPeople
            members={new Set(group.members)}
            add={async (chosen) => {
              await post(path, { add: chosen });
              return chosen;
            }}
          />
          <div class="add-row">
            <select aria-label={i18n.t("Group")} value={subgroup} onChange={(event) => setSubgroup(event.currentTarget.value)}>
              <option value="">{i18n.t("Choose a group")}</option>
              {others.map((each) => (
                <option key={each.id} value={String(each.id)}>
                  {groupName(each)}
                </option>
              ))}
            </select>
            <ActionButton
              name={i18n.t("Add group")}
              done={i18n.t("Added")}
              reason={subgroup ? undefined : i18n.t("Choose a group")}
              action={async () => {
                await post(`/user_groups/${group.id}/subgroups`, { add: [Number(subgroup)] });
                setSubgroup("");
              }}
            />
          </div>
        </>
      ) : null}
      {group.direct_subgroup_ids.length ? (
        <section class="setting-section">
          <h4>{i18n.t("Groups in it")}</h4>
          <ul class="item-list" aria-label={i18n.t("Groups in it")}>
            {group.direct_subgroup_ids.map((id) => (
              <li key={id}>
                <div class="item">
                  <Icon name="people" />
                  <div class="item-text">
                    <a class="item-name" href={`#groups/${id}/members`}>
                      {groupName(groups.get(id))}
                    </a>
                  </div>
                  {mayRemove ? (
                    <ActionButton
                      kind="small"
                      name={i18n.t("Remove")}
                      label={i18n.t("Remove {name}", { name: groupName(groups.get(id)) })}
                      done=" "
                      action={() => post(`/user_groups/${group.id}/subgroups`, { delete: [id] })}
                    />
                  ) : null}
                </div>
              </li>
            ))}
          </ul>
        </section>
      ) : null}
      <FilteredList
        name={i18n.t("Members")}
        items={members}
        keyOf={(user) => user.user_id}
        textOf={(user) => user.full_name}
        empty={i18n.t("It has no members of its own.")}
        row={(user) => (
          <UserLine user={user}>
            {mayRemove ? (
              <ActionButton
                kind="small"
                name={i18n.t("Remove")}
                label={i18n.t("Remove {name}", { name: user.full_name })}
                done=" "
                action={() => post(path, { delete: [user.user_id] })}
              />
            ) : null}
          </UserLine>
        )}
      />
    </>
  );
}
