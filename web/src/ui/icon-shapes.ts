/**
 * What each icon is drawn of: the content of an SVG image of 24 by 24 units, in outlines.
 *
 * Only the build reads it (`build/icons.ts`), and makes a rule of the style sheet of each.
 */
export const SHAPES = {
  alarm: '<circle cx="12" cy="13" r="7"/><path d="M12 9v4l2.5 2M5 3.5L2.5 6M19 3.5L21.5 6"/>',
  archive: '<path d="M3.5 5h17v4h-17zM5 9v10.5h14V9M10 13h4"/>',
  at: '<circle cx="12" cy="12" r="3.5"/><path d="M15.5 8.5v4.5a2.5 2.5 0 0 0 5 0v-1a8.5 8.5 0 1 0-3.5 6.9"/>',
  attach:
    '<path d="M21 12l-8.5 8.5a5.5 5.5 0 0 1-7.8-7.8L13.6 4a3.7 3.7 0 0 1 5.2 5.2l-8.7 8.7a1.8 1.8 0 0 1-2.6-2.6l8-7.8"/>',
  bell: '<path d="M4.5 16.5c2-2 1.5-5 2-8a5.6 5.6 0 0 1 11 0c.5 3 0 6 2 8zM10 19.5a2 2 0 0 0 4 0"/>',
  bold: '<path d="M7 5h6a3.5 3.5 0 0 1 0 7H7zM7 12h7a3.5 3.5 0 0 1 0 7H7z"/>',
  bullets: '<path d="M9 6h11M9 12h11M9 18h11M4.5 6v.1M4.5 12v.1M4.5 18v.1"/>',
  check: '<path d="M4.5 12.5l5 5 10-11"/>',
  chevron: '<path d="M9 5.5l6.5 6.5L9 18.5"/>',
  clock: '<circle cx="12" cy="12" r="8.5"/><path d="M12 7v5l3.5 2"/>',
  close: '<path d="M6 6l12 12M18 6L6 18"/>',
  code: '<path d="M8 7l-5 5 5 5M16 7l5 5-5 5"/>',
  copy: '<rect x="8.5" y="8.5" width="11" height="11" rx="2"/><path d="M15.5 8.5v-2a2 2 0 0 0-2-2h-7a2 2 0 0 0-2 2v7a2 2 0 0 0 2 2h2"/>',
  down: '<path d="M12 4.5v14.5M6 13l6 6 6-6"/>',
  edit: '<path d="M4 20l1-4.5L16.5 4a2.1 2.1 0 0 1 3 3L8.5 19zM14.5 6l3.5 3.5"/>',
  eye: '<path d="M2.5 12S6 5.5 12 5.5 21.5 12 21.5 12 18 18.5 12 18.5 2.5 12 2.5 12z"/><circle cx="12" cy="12" r="3"/>',
  feed: '<path d="M4 6h16M4 12h16M4 18h10"/>',
  flag: '<path d="M5.5 21V4M5.5 4.5c4-2 7 2 13 0v9c-6 2-9-2-13 0"/>',
  format: '<path d="M5 20h14M7 16l5-12 5 12M8.8 12h6.4"/>',
  forward: '<path d="M15 6l5 5-5 5M20 11h-9a7 7 0 0 0-7 7v1"/>',
  globe:
    '<circle cx="12" cy="12" r="8.5"/><path d="M3.5 12h17M12 3.5c5 5.5 5 11.5 0 17M12 3.5c-5 5.5-5 11.5 0 17"/>',
  hash: '<path d="M9.5 4l-2 16M16.5 4l-2 16M4.5 9h16M3.5 15h16"/>',
  history: '<path d="M4 12a8 8 0 1 1 2.5 5.8M4 12l-2-2.5M4 12l2.5-2M12 7.5V12l3 2"/>',
  inbox: '<path d="M3.5 13l3-8.500h11l3 8.500v6.500h-17zM3.5 13h5l1 2.500h5l1-2.500h5"/>',
  italic: '<path d="M10 5h8M6 19h8M14.5 5l-5 14"/>',
  link: '<path d="M10 14a4 4 0 0 0 5.7 0l3.2-3.2a4 4 0 0 0-5.7-5.7L12 6.3M14 10a4 4 0 0 0-5.7 0l-3.2 3.2a4 4 0 0 0 5.7 5.7l1.2-1.2"/>',
  lock: '<rect x="5" y="10.5" width="14" height="9.5" rx="2"/><path d="M8 10.5V8a4 4 0 0 1 8 0v2.5"/>',
  math: '<path d="M18 5H6l6 7-6 7h12"/>',
  menu: '<path d="M4 6h16M4 12h16M4 18h16"/>',
  more: '<path d="M12 5.5v.1M12 12v.1M12 18.5v.1" stroke-width="2.6"/>',
  move: '<path d="M13 5h5a2 2 0 0 1 2 2v10a2 2 0 0 1-2 2h-5M3.5 12H14M10 7.5l4.5 4.5-4.5 4.5"/>',
  mute: '<path d="M6 16.5h12.5M18 13c0-2.5-.2-5-.8-6.5A5.5 5.5 0 0 0 7.5 6M6.1 9.5c-.1 3-.6 5-2.1 7M10 19.5a2 2 0 0 0 4 0M4 4l16 16"/>',
  numbers: '<path d="M10 6h10M10 12h10M10 18h10M4 4.5L5.5 4v4.5M4 8.5h3M4 14.5c0-2 3-2 3 0 0 1.2-3 2.5-3 4h3"/>',
  people:
    '<circle cx="9" cy="8.5" r="3.5"/><path d="M2.5 19.5c0-7 13-7 13 0M15.5 5.3a3.5 3.5 0 0 1 0 6.4M18 14.500c2.3.8 3.5 2.5 3.5 5"/>',
  person: '<circle cx="12" cy="8" r="4"/><path d="M4.5 20c0-8 15-8 15 0"/>',
  phone:
    '<path d="M5 4h4l1.5 4.5L8 10a12 12 0 0 0 6 6l1.5-2.5L20 15v4a1.5 1.5 0 0 1-1.6 1.5A15.5 15.5 0 0 1 3.5 5.6 1.5 1.5 0 0 1 5 4z"/>',
  plus: '<path d="M12 4.5v15M4.5 12h15"/>',
  quotation: '<path d="M5 5v14M9 8h11M9 12h11M9 16h7"/>',
  quote: '<path d="M9.5 7C6.5 8 5 10 5 13v4h5v-5H7.5M18.5 7c-3 1-4.5 3-4.5 6v4h5v-5h-2.5"/>',
  pin: '<path d="M9 3.5h6l-1 6 4 3.500v1.5H6V13l4-3.500zM12 14.5v6"/>',
  react:
    '<path d="M20.5 12a8.5 8.5 0 1 1-6-8.1"/><path d="M8.5 14.5a4.2 4.2 0 0 0 7 0M9 9.6v.1M15 9.6v.1M19 2.5v6M16 5.5h6"/>',
  search: '<circle cx="10.5" cy="10.5" r="6"/><path d="M15 15l5.5 5.5"/>',
  send: '<path d="M4.5 12h7M4.5 12L3 4.2a.5.5 0 0 1 .7-.6l16.8 8a.5.5 0 0 1 0 .9l-16.8 8a.5.5 0 0 1-.7-.6z"/>',
  settings:
    '<path d="M4 7.500h8.500M17.5 7.500H20M4 16.500h2.500M11.5 16.500H20"/><circle cx="15" cy="7.5" r="2.5"/><circle cx="9" cy="16.5" r="2.5"/>',
  smile: '<circle cx="12" cy="12" r="8.5"/><path d="M8.5 14.5a4.2 4.2 0 0 0 7 0M9 9.6v.1M15 9.6v.1"/>',
  snippet: '<path d="M6 3.5h8l5 5v12H6zM14 3.5v5h5M9 13h7M9 16.5h5"/>',
  spoiler:
    '<path d="M3 3l18 18M10 6.200a9 9 0 0 1 2-.2c6 0 9.5 6 9.5 6a15 15 0 0 1-2.7 3.300M6.5 8a15 15 0 0 0-4 4S6 18 12 18c1.3 0 2.5-.3 3.6-.7"/>',
  star: '<path d="M12 3.5l2.6 5.4 5.9.8-4.3 4.1 1 5.9-5.2-2.8-5.2 2.8 1-5.9L3.5 9.7l5.9-.8z"/>',
  "star-on":
    '<path d="M12 3.5l2.6 5.4 5.9.8-4.3 4.1 1 5.9-5.2-2.8-5.2 2.8 1-5.9L3.5 9.7l5.9-.8z" fill="#000"/>',
  strike:
    '<path d="M5 12h14M8 8.5C8 6.5 9.8 5 12 5s3.7 1 4.2 2.500M16 15c0 2.3-1.6 4-4 4-2.2 0-3.9-1-4.4-2.7"/>',
  topic: '<path d="M4.5 5h15v11h-8l-4 3.5V16h-3z"/>',
  trash: '<path d="M4.5 6.5h15M9.5 6.5V4h5v2.5M6.5 6.5L7.5 20h9l1-13.5M10.5 10.5v5.5M13.5 10.5v5.5"/>',
  unread: '<path d="M19.5 11a7.5 7.5 0 1 1-6.5-6.5"/><circle cx="18.5" cy="5.5" r="3" fill="#000" stroke="none"/>',
  video: '<path d="M3.5 7.5a1 1 0 0 1 1-1h9a1 1 0 0 1 1 1v9a1 1 0 0 1-1 1h-9a1 1 0 0 1-1-1zM14.5 11l6-3.5v9l-6-3.5"/>',
  warning: '<path d="M12 4L2.5 20h19zM12 10v4.5M12 17.5v.1"/>',
};
