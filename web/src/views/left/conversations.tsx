import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { state } from "../../app";
import { i18n } from "../../i18n";
import { COLLATOR, countOfAll, countOfDirect, foldText, isDirectMuted, subscribedChannels } from "../../model/counts";
import { directNarrow, keyOf, type Narrow } from "../../model/narrow";
import { type Channel, idsOfKey, type State } from "../../model/state";
import { addressOf, go, ground } from "../../router";
import { nameWithUnread, UnreadCount } from "../../ui/count";
import { Icon, type IconName } from "../../ui/icons";
import { memo } from "../../ui/memo";
import { type MenuItem, openMenu } from "../../ui/menu";
import { useDerived, watch } from "../../ui/watch";
import { privacyOptions, whyNotCreate } from "../channels/permissions";
import { startDirect, startTopic } from "../compose/target";
import { AccountButton, SignInLink } from "./account";
import { ChannelItem } from "./channel-item";
import { openSide } from "./drawer";
import { OrganizationLink } from "./organization";
import { onRowMenu, RowMenuButton } from "./row-menu";

/** What the lists are filtered by. */
const filter = signal("");
const RECENT_DIRECTS = 8;
const showsAllDirects = signal(false);

/** Views, direct messages and channels, with what is unread. */
export function Conversations() {
  const isUser = state().userId !== 0;
  return (
    <nav class={`left${openSide.value === "left" ? " open" : ""}`} aria-label="Conversations" id="conversations" tabIndex={-1}>
      <div class="left-head">
        <OrganizationLink />
        {isUser ? <AccountButton /> : <SignInLink />}
      </div>
      <FilterBox />
      <Views />
      {isUser ? <DirectMessages /> : null}
      <Channels />
    </nav>
  );
}

function FilterBox() {
  const box = useRef<HTMLInputElement>(null);
  return (
    <input
      ref={box}
      type="search"
      class="filter"
      placeholder={i18n.t("Filter conversations")}
      aria-label={i18n.t("Filter conversations")}
      value={filter.value}
      onInput={(event) => {
        filter.value = event.currentTarget.value;
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") filter.value = "";
      }}
    />
  );
}

/** Return whether a name has a word that begins with each word of the filter. */
function isWanted(name: string): boolean {
  const words = foldText(name).split(/[\s/_.-]+/);
  return foldText(filter.value)
    .split(/\s+/)
    .every((part) => !part || words.some((word) => word.startsWith(part)) || foldText(name).includes(part));
}

interface ViewLink {
  icon: IconName;
  name: string;
  href: string;
  count?: number;
}

function countsOfViews() {
  watch("unread", "starred", "drafts", "scheduled", "reminders", "channels", "topicPolicies", "mutedUsers", "settings");
  const { unread, starred, drafts, scheduled, reminders, settings } = state();
  return {
    unread: countOfAll(state()),
    mentions: unread.mentions.size,
    starred: settings.starred_message_counts ? starred.size : 0,
    drafts: drafts.size,
    scheduled: scheduled.size,
    reminders: reminders.size,
  };
}

function Views() {
  watch("navigationViews");
  const { unread, mentions, starred, drafts, scheduled, reminders } = useDerived(countsOfViews, []);
  const { navigationViews } = state();
  const views: ViewLink[] = [
    { icon: "inbox", name: i18n.t("Inbox"), href: "#inbox", count: unread },
    { icon: "history", name: i18n.t("Recent conversations"), href: "#recent" },
    { icon: "feed", name: i18n.t("Combined feed"), href: "#feed" },
    { icon: "at", name: i18n.t("Mentions"), href: "#narrow/is/mentioned", count: mentions },
    { icon: "star", name: i18n.t("Starred"), href: "#narrow/is/starred", count: starred },
    { icon: "edit", name: i18n.t("Drafts"), href: "#drafts", count: drafts },
  ];
  if (scheduled) views.push({ icon: "clock", name: i18n.t("Scheduled"), href: "#scheduled", count: scheduled });
  if (reminders) views.push({ icon: "bell", name: i18n.t("Reminders"), href: "#reminders", count: reminders });
  if (!state().userId) views.splice(0, views.length, ...views.filter((each) => each.href === "#feed"));
  const known = new Set(views.map((each) => each.href));
  for (const own of navigationViews.values()) {
    const href = `#${own.fragment}`;
    if (own.name && own.is_pinned && !known.has(href)) views.push({ icon: "search", name: own.name, href });
  }
  const here = ground.value;
  const current = here.kind === "view" ? `#${here.view}` : addressOf({ terms: here.narrow.terms });
  return (
    <ul aria-label="Views" class="links">
      {views.map(({ icon, name, href, count }) => (
        <li key={href}>
          <a
            href={href}
            aria-label={isUnread(href) ? nameWithUnread(name, count ?? 0) : count ? `${name}, ${count}` : name}
            aria-current={current === href ? "page" : undefined}
          >
            <Icon name={icon} />
            <span class="name">{name}</span>
            {isUnread(href) ? (
              <UnreadCount of={count ?? 0} />
            ) : count ? (
              <>
                {" "}
                <span class="count faded" aria-hidden="true">
                  {count}
                </span>
              </>
            ) : null}
          </a>
        </li>
      ))}
    </ul>
  );
}

/** Whether the count of a view is of unread messages. */
function isUnread(href: string): boolean {
  return href === "#inbox" || href === "#narrow/is/mentioned";
}

function Heading({ children, name, onAdd, addName, addIcon = "plus" }: { children?: ComponentChildren; name: string; onAdd: () => void; addName: string; addIcon?: IconName }) {
  return (
    <div class="section-head">
      <h2>{name}</h2>
      {children}
      <button type="button" class="quiet icon-button" aria-label={addName} title={addName} onClick={onAdd}>
        <Icon name={addIcon} />
      </button>
    </div>
  );
}

export function nameOfDirect(ids: readonly number[]): string {
  const { users, userId } = state();
  if (ids.length === 1 && ids[0] === userId) return i18n.t("{name} (you)", { name: users.get(userId)?.full_name ?? "" });
  return ids
    .map((id) => users.get(id)?.full_name ?? i18n.t("Unknown user"))
    .sort(COLLATOR.compare)
    .join(", ");
}

/** Return the conversations that are listed, newest first, and whether there are more. */
function directsShown(): { keys: string[]; hasMore: boolean; isEmpty: boolean } {
  watch("conversations", "unread", "users", "mutedUsers");
  const { conversations, unread } = state();
  const all = [...conversations].sort((one, other) => other[1] - one[1]).map(([key]) => key);
  const isShown = (key: string, index: number) => {
    if (filter.value) return isWanted(nameOfDirect(idsOfKey(key)));
    const hasUnread = unread.inDirect(key).size > 0;
    return showsAllDirects.value || hasUnread || (index < RECENT_DIRECTS && !isDirectMuted(state(), idsOfKey(key)));
  };
  const keys = all.filter(isShown);
  return { keys, hasMore: keys.length < all.length, isEmpty: !all.length };
}

function DirectMessages() {
  const { keys, hasMore, isEmpty } = useDerived(directsShown, []);
  return (
    <>
      <Heading name={i18n.t("Direct messages")} addName="New direct message" onAdd={() => startDirect()} />
      <ul aria-label="Direct messages" class="links">
        {keys.map((key) => (
          <DirectItem key={key} of={key} />
        ))}
      </ul>
      {!filter.value && hasMore && !showsAllDirects.value ? (
        <button type="button" class="quiet small" onClick={() => (showsAllDirects.value = true)}>
          {i18n.t("Show all direct messages")}
        </button>
      ) : null}
      {isEmpty ? <p class="hint">{i18n.t("Nobody has written to you yet.")}</p> : null}
    </>
  );
}

/** A direct message conversation, by its key. */
const DirectItem = memo(({ of: key }: { of: string }) => {
  const ids = idsOfKey(key);
  const narrow = directNarrow(ids) as Narrow;
  const { name, count, isMuted, isHere } = useDerived(() => {
    watch("unread", "users", "mutedUsers");
    const here = ground.value;
    return {
      name: nameOfDirect(ids),
      count: countOfDirect(state(), key),
      isMuted: isDirectMuted(state(), ids),
      isHere: here.kind === "narrow" && keyOf(here.narrow) === keyOf(narrow),
    };
  }, [key]);
  return (
    <li class="menu-row" onContextMenu={onRowMenu({ kind: "direct", ids }, name)}>
      <a
        href={addressOf(narrow)}
        aria-label={nameWithUnread(name, count)}
        class={isMuted ? "muted" : undefined}
        aria-current={isHere ? "page" : undefined}
      >
        <Icon name={ids.length > 1 ? "people" : "person"} />
        <span class="name">{name}</span>
        <UnreadCount of={count} />
      </a>
      <span class="row-buttons">
        <RowMenuButton row={{ kind: "direct", ids }} name={name} />
      </span>
    </li>
  );
});

interface Section {
  key: string;
  name: string | undefined;
  channels: Channel[];
}

/** Group channels: pinned ones first, then by folder if wanted, then the rest. */
export function sectionsOf(channels: Channel[], isByFolder: boolean): Section[] {
  const folders: State["folders"] = isByFolder ? state().folders : new Map();
  const pinned = channels.filter((each) => each.pin_to_top);
  const others = channels.filter((each) => !each.pin_to_top);
  const ordered = [...folders.values()]
    .filter((each) => !each.is_archived)
    .sort((one, other) => one.order - other.order || one.id - other.id);
  const inFolders = ordered.map((folder) => ({
    key: `folder-${folder.id}`,
    name: folder.name,
    channels: others.filter((each) => each.folder_id === folder.id),
  }));
  const known = new Set(ordered.map((each) => each.id));
  const rest = others.filter((each) => each.folder_id === null || !known.has(each.folder_id));
  const sections: Section[] = [
    { key: "pinned", name: i18n.t("Pinned"), channels: pinned },
    ...inFolders,
    { key: "rest", name: undefined, channels: rest },
  ].filter((each) => each.channels.length);
  if (sections.length > 1 && sections.at(-1)?.key === "rest") sections.at(-1)!.name = i18n.t("Other channels");
  return sections;
}

function Channels() {
  watch("channels", "folders", "settings");
  const all = subscribedChannels(state());
  const demotesInactive = state().settings.demote_inactive_streams !== 3;
  const wanted = all
    .filter((each) => !filter.value || isWanted(each.name))
    .sort((one, other) => Number(rank(one, demotesInactive)) - Number(rank(other, demotesInactive)));
  const sections = sectionsOf(wanted, state().settings.web_left_sidebar_show_channel_folders !== false);
  return (
    <>
      {state().userId ? (
        <Heading name={i18n.t("Channels")} addName="New topic" addIcon="edit" onAdd={() => startTopic()}>
          <button
            type="button"
            class="quiet icon-button"
            aria-label="Add channels"
            aria-haspopup="menu"
            title={i18n.t("Browse and create channels")}
            onClick={(event) => openMenu(event.currentTarget, "Add channels", [waysToChannels()])}
          >
            <Icon name="plus" />
          </button>
        </Heading>
      ) : (
        <div class="section-head">
          <h2>{i18n.t("Channels")}</h2>
        </div>
      )}
      <ul aria-label="Channels" class="links">
        {sections.map((section) => (
          <>
            {section.name ? (
              <li key={section.key} class="section-name">
                <h3>{section.name}</h3>
              </li>
            ) : null}
            {section.channels.map((channel) => (
              <ChannelItem key={channel.stream_id} channel={channel} />
            ))}
          </>
        ))}
      </ul>
      {!all.length && state().userId ? (
        <p class="hint">
          <a href="#channels/available">{i18n.t("Browse channels to join some.")}</a>
        </p>
      ) : null}
    </>
  );
}

function waysToChannels(): MenuItem[] {
  const mayCreate = privacyOptions().some(([each]) => !whyNotCreate(each));
  return [
    { name: i18n.t("Browse channels"), icon: "search", onSelect: () => go("#channels/available") },
    ...(mayCreate ? [{ name: i18n.t("Create channel"), icon: "plus" as const, onSelect: () => go("#channels/new") }] : []),
  ];
}

/** Muted channels come last, inactive ones before them. */
function rank(channel: Channel, demotesInactive: boolean): number {
  return (channel.is_muted ? 2 : 0) + (demotesInactive && channel.is_recently_active === false ? 1 : 0);
}
