/** Icons, drawn as paths in a box of 20. They are decoration: what they mean stands in words. */

const PATHS = {
  inbox: "M3 11l2.5-7h9L17 11v5H3zM3 11h4l1 2h4l1-2h4",
  recent: "M10 3a7 7 0 1 1-7 7M3 4v4h4M10 6v4l3 2",
  feed: "M3 5h14M3 10h14M3 15h9",
  mention: "M13 10a3 3 0 1 1-6 0 3 3 0 0 1 6 0zm0 0c0 3 4 3 4 0a7 7 0 1 0-3 5.7",
  star: "M10 3l2.1 4.4 4.9.7-3.5 3.4.8 4.8L10 14l-4.3 2.3.8-4.8L3 8.1l4.9-.7z",
  draft: "M4 16l1-4 8-8 3 3-8 8zM11 6l3 3",
  clock: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zm0 3v4l3 2",
  bell: "M5 13V9a5 5 0 0 1 10 0v4l1 2H4zM8.5 15a1.6 1.6 0 0 0 3 0",
  hash: "M8 3L6 17M14 3l-2 14M3.5 7.5h13M3 12.5h13",
  lock: "M6 9V7a4 4 0 0 1 8 0v2M5 9h10v7H5z",
  globe: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM3 10h14M10 3c4 4 4 10 0 14c-4-4-4-10 0-14",
  plus: "M10 4v12M4 10h12",
  search: "M9 4a5 5 0 1 0 0 10A5 5 0 0 0 9 4zm4 9l4 4",
  menu: "M3 5h14M3 10h14M3 15h14",
  people: "M7 9a3 3 0 1 0 0-6 3 3 0 0 0 0 6zm-5 8c0-6 10-6 10 0M14 9a2.5 2.5 0 1 0-1-4.8M18 16c0-3-2-4.6-4-4.6",
  person: "M10 9.5a3.2 3.2 0 1 0 0-6.4 3.2 3.2 0 0 0 0 6.4zM4 17c0-7 12-7 12 0",
  chevron: "M7 5l5 5-5 5",
  close: "M5 5l10 10M15 5L5 15",
  more: "M4.5 10h.01M10 10h.01M15.5 10h.01",
  check: "M4 10.5l4 4 8-9",
  pin: "M7 3h6l-1 5 3 3H5l3-3zM10 11v6",
  gear: "M10 7a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM10 2v3M10 15v3M2 10h3M15 10h3M4.3 4.3l2.1 2.1M13.6 13.6l2.1 2.1M4.3 15.7l2.1-2.1M13.6 6.4l2.1-2.1",
  door: "M8 3H4v14h4M8 10h9M14 7l3 3-3 3",
  smile: "M10 3a7 7 0 1 0 0 14 7 7 0 0 0 0-14zM7 8h.01M13 8h.01M7 12c1.5 2 4.5 2 6 0",
  folder: "M3 5h5l2 2h7v9H3z",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class={`icon icon-${name}`} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  );
}

/** The icon of a channel: who may read it. */
export function ChannelIcon({ channel }: { channel: { invite_only: boolean; is_web_public: boolean } }) {
  return <Icon name={channel.invite_only ? "lock" : channel.is_web_public ? "globe" : "hash"} />;
}
