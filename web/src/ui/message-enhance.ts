/** What a message's HTML needs to work: links, mentions, code, spoilers, media, times, emoji. */

import { state } from "../app";
import { i18n } from "../i18n";
import { directionOf } from "../model/direction";
import { charactersOf } from "../model/emoji";
import { isInGroup } from "../model/permissions";
import { expand } from "../model/url-template";
import type { Playground } from "../protocol/types";
import { go } from "../router";
import { copyText } from "./copy";
import type { IconName } from "./icons";
import { showsEmojiAsText } from "./emoji-set";
import { load } from "./lazy";
import { declarations } from "./message-markup";
import { fullTime, shortTime } from "./time";
import { attempt, toast } from "./toast";
import { showUserCard } from "./user-card";

/** Blocks of blocks that have directions of their own: browsers do not look into these for `dir=auto`. */
const FRAMES = "blockquote, table, .spoiler-block, .message_embed";
const BLOCKS = "p, li, h1, h2, h3, h4, h5, h6, th, td, .message_embed_title, .message_embed_description";
const AUDIO = /\.(?:mp3|ogg|oga|opus|wav|m4a|aac|flac|weba)$/i;
const MAX_LARGE_EMOJI = 9;
const EMOJI_WITH_TONE = /\p{Emoji_Modifier_Base}\p{Emoji_Modifier}(?:\u200d[\p{Extended_Pictographic}]\ufe0f?)*/gu;
/** The largest size of an image in a message, in pixels; CSS has the same. */
const MAX_IMAGE = { width: 420, height: 300 };

/** Make the elements of a message work. The HTML was just put in. */
export function enhance(body: HTMLElement): void {
  for (const element of body.querySelectorAll<HTMLElement>("[data-style]")) applyStyle(element);
  for (const block of body.querySelectorAll<HTMLElement>(BLOCKS)) block.dir = "auto";
  for (const frame of body.querySelectorAll<HTMLElement>(FRAMES)) frame.dir = directionOf(frame.textContent);
  for (const link of body.querySelectorAll<HTMLAnchorElement>("a[href]")) enhanceLink(link);
  for (const span of body.querySelectorAll<HTMLElement>(".user-mention, .user-group-mention, .topic-mention")) enhanceMention(span);
  for (const emoji of body.querySelectorAll<HTMLElement>("span.emoji")) enhanceEmoji(emoji);
  for (const block of body.querySelectorAll<HTMLElement>(".codehilite")) enhanceCode(block);
  for (const block of body.querySelectorAll<HTMLElement>(".spoiler-block")) enhanceSpoiler(block);
  for (const time of body.querySelectorAll<HTMLTimeElement>("time")) enhanceTime(time);
  for (const table of body.querySelectorAll("table")) enhanceTable(table);
  for (const media of body.querySelectorAll<HTMLElement>(".message_inline_image")) enhanceMedia(media);
  for (const image of body.querySelectorAll<HTMLImageElement>("img.inline-image")) enhanceInlineImage(image);
  for (const player of body.querySelectorAll("audio[title]")) player.setAttribute("aria-label", (player as HTMLElement).title);
  enlargeEmoji(body);
  drawToned(body);
}

/** Show within a message what has changed since: names, times, playgrounds. What was opened stays open. */
export function refresh(body: HTMLElement): void {
  for (const link of body.querySelectorAll<HTMLAnchorElement>("a.stream[data-stream-id]")) nameChannel(link);
  for (const span of body.querySelectorAll<HTMLElement>(".user-mention, .user-group-mention")) enhanceMention(span);
  for (const time of body.querySelectorAll<HTMLTimeElement>("time")) enhanceTime(time);
  for (const block of body.querySelectorAll<HTMLElement>(".codehilite")) {
    for (const link of block.querySelectorAll(".code-playground")) link.remove();
    block.querySelector(".code-language")?.after(...playgroundLinks(block));
  }
}

function applyStyle(element: HTMLElement): void {
  for (const [property, value] of declarations(element.dataset.style!)) element.style.setProperty(property, value);
}

/** Links of this page stay in it; others open in a new tab that knows nothing of this one. */
function enhanceLink(link: HTMLAnchorElement): void {
  let url: URL;
  try {
    url = new URL(link.getAttribute("href")!, location.href);
  } catch {
    link.removeAttribute("href");
    return;
  }
  const isOwn = url.origin === location.origin;
  if (isOwn && url.pathname === "/" && url.hash) {
    link.setAttribute("href", url.hash);
    if (link.classList.contains("stream")) nameChannel(link);
    return;
  }
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  if (!isOwn || !url.pathname.startsWith("/user_uploads/") || link.closest(".message_inline_image, .message_embed")) return;
  link.classList.add("file-link");
  if (AUDIO.test(url.pathname)) addPlayer(link);
}

function nameChannel(link: HTMLAnchorElement): void {
  const channel = state().channels.get(Number(link.dataset.streamId));
  if (channel) link.textContent = `#${channel.name}`;
}

function addPlayer(link: HTMLAnchorElement): void {
  const player = document.createElement("audio");
  player.controls = true;
  player.preload = "none";
  player.src = link.href;
  player.setAttribute("aria-label", link.textContent || i18n.t("Recording"));
  link.closest("p, li, blockquote")?.after(player);
}

function enhanceMention(span: HTMLElement): void {
  const { users, groups, userId } = state();
  const isSilent = span.classList.contains("silent");
  const { userId: id, userGroupId: groupId } = span.dataset;
  let isMine = span.classList.contains("topic-mention") || id === "*";
  if (groupId !== undefined) {
    const group = groups.get(Number(groupId));
    if (group && !group.is_system_group) span.textContent = `${isSilent ? "" : "@"}${group.name}`;
    isMine = isInGroup(state(), Number(groupId), userId);
  } else if (id !== undefined && id !== "*") {
    const user = users.get(Number(id));
    if (user) span.textContent = `${isSilent ? "" : "@"}${user.full_name}`;
    isMine = Number(id) === userId;
    span.tabIndex = 0;
    span.setAttribute("role", "button");
  }
  span.classList.toggle("is-mine", isMine && !isSilent);
}

function enhanceEmoji(span: HTMLElement): void {
  const code = [...span.classList].find((each) => each.startsWith("emoji-"))?.slice(6);
  const characters = code ? charactersOf(code) : "";
  if (!characters) return;
  const name = span.textContent!;
  span.title = name;
  if (showsEmojiAsText()) return;
  span.setAttribute("role", "img");
  span.setAttribute("aria-label", name);
  span.textContent = characters;
}

/** Draw emoji with a skin tone, which the server leaves as characters, by the chosen set too. */
function drawToned(body: HTMLElement): void {
  if (!/\p{Emoji_Modifier}/u.test(body.textContent)) return;
  const walker = document.createTreeWalker(body, NodeFilter.SHOW_TEXT);
  const texts: Text[] = [];
  while (walker.nextNode()) texts.push(walker.currentNode as Text);
  for (const text of texts) {
    for (const found of [...text.data.matchAll(EMOJI_WITH_TONE)].reverse()) {
      const part = text.splitText(found.index);
      part.splitText(found[0].length);
      const span = document.createElement("span");
      span.className = "emoji-text";
      part.replaceWith(span);
      span.append(part);
    }
  }
}

/** Return how many emoji a text has, those with a skin tone are written so; NaN if it has anything else. */
function countOfEmoji(text: string): number {
  const others = text.replace(EMOJI_WITH_TONE, "");
  return others.trim() ? Number.NaN : (text.match(EMOJI_WITH_TONE)?.length ?? 0);
}

/** Show a message that is nothing but a few emoji in large. */
function enlargeEmoji(body: HTMLElement): void {
  const [paragraph] = body.children;
  if (body.childElementCount !== 1 || paragraph?.tagName !== "P") return;
  const counts = [...paragraph.childNodes].map((node) =>
    node instanceof HTMLElement ? Number(node.classList.contains("emoji")) || Number.NaN : countOfEmoji(node.textContent!),
  );
  const count = counts.reduce((sum, each) => sum + each, 0);
  if (count > 0 && count <= MAX_LARGE_EMOJI) body.classList.add("is-emoji-only");
}

function enhanceCode(block: HTMLElement): void {
  const pre = block.querySelector("pre");
  if (!pre) return;
  pre.tabIndex = 0;
  block.dir = "ltr";
  const head = document.createElement("div");
  head.className = "code-head";
  const language = document.createElement("span");
  language.className = "code-language";
  language.textContent = block.dataset.codeLanguage ?? "";
  const copy = document.createElement("button");
  copy.type = "button";
  copy.className = "icon-button code-copy";
  copy.dataset.icon = "copy" satisfies IconName;
  copy.setAttribute("aria-label", i18n.t("Copy code"));
  copy.title = i18n.t("Copy code");
  head.append(language, ...playgroundLinks(block), copy);
  block.prepend(head);
}

/** Return links that open a block of code in the organization's playgrounds for its language. */
function playgroundLinks(block: HTMLElement): HTMLAnchorElement[] {
  const language = block.dataset.codeLanguage ?? "";
  const code = block.querySelector("pre")?.textContent ?? "";
  const playgrounds = (state().fields.realm_playgrounds ?? []) as Playground[];
  const fitting = playgrounds.filter((each) => each.pygments_language.toLowerCase() === language.toLowerCase());
  return fitting.map(({ name, url_template }) => {
    const link = document.createElement("a");
    link.className = "code-playground";
    link.href = expand(url_template, "code", code.replace(/\n$/, ""));
    link.target = "_blank";
    link.rel = "noopener noreferrer";
    link.textContent = i18n.t("Open in {name}", { name });
    return link;
  });
}

let spoilers = 0;

function enhanceSpoiler(block: HTMLElement): void {
  const header = block.querySelector<HTMLElement>(":scope > .spoiler-header");
  const content = block.querySelector<HTMLElement>(":scope > .spoiler-content");
  if (!header || !content) return;
  content.hidden = true;
  content.removeAttribute("aria-hidden");
  content.id = `spoiler-${spoilers++}`;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "spoiler-button";
  button.dataset.icon = "chevron" satisfies IconName;
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-controls", content.id);
  button.setAttribute("aria-label", header.textContent!.trim() || i18n.t("Spoiler"));
  if (!header.textContent!.trim()) header.textContent = i18n.t("Spoiler");
  header.prepend(button);
}

function enhanceTime(time: HTMLTimeElement): void {
  const seconds = Date.parse(time.dateTime) / 1000;
  if (!Number.isFinite(seconds)) return;
  time.title = fullTime(seconds);
  time.textContent = shortTime(seconds);
}

function enhanceTable(table: HTMLTableElement): void {
  const frame = document.createElement("div");
  frame.className = "table-frame";
  frame.tabIndex = 0;
  frame.setAttribute("role", "region");
  frame.setAttribute("aria-label", i18n.t("Table"));
  table.replaceWith(frame);
  frame.append(table);
}

function enhanceMedia(media: HTMLElement): void {
  const link = media.querySelector("a");
  const video = media.querySelector("video");
  if (video && link) {
    video.controls = true;
    video.playsInline = true;
    video.setAttribute("aria-label", link.title || i18n.t("Video"));
    link.replaceWith(video);
    return;
  }
  const image = media.querySelector("img");
  if (!image || !link) return;
  image.alt = link.title || nameOf(link.href);
  reserveSpace(image);
}

/** A picture in the text: a link to the whole of it, as those below the text are. */
function enhanceInlineImage(image: HTMLImageElement): void {
  const link = document.createElement("a");
  link.className = "picture-link";
  link.href = image.dataset.originalSrc ?? image.src;
  link.target = "_blank";
  link.rel = "noopener noreferrer";
  image.replaceWith(link);
  link.append(image);
  reserveSpace(image);
}

function reserveSpace(image: HTMLImageElement): void {
  image.loading = "lazy";
  const [width, height] = (image.dataset.originalDimensions ?? "").split("x").map(Number);
  if (width && height) {
    const scale = Math.min(1, MAX_IMAGE.width / width, MAX_IMAGE.height / height);
    image.width = Math.round(width * scale);
    image.height = Math.round(height * scale);
  }
}

function nameOf(address: string): string {
  const last = new URL(address, location.href).pathname.split("/").at(-1) ?? "";
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}

// Clicks and keys in messages: one listener for all of them.

function onClick(event: MouseEvent): void {
  const target = (event.target as Element).closest<HTMLElement>(
    ".message-body :is(.code-copy, .spoiler-header, .message_inline_image a, .picture-link, .user-mention, .user-group-mention)",
  );
  if (!target || event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (target.classList.contains("code-copy")) void copyCode(target);
  else if (target.classList.contains("spoiler-header")) {
    if ((event.target as Element).closest("a")) return;
    toggleSpoiler(target);
  } else if (target instanceof HTMLAnchorElement) {
    event.preventDefault();
    void attempt(async () => (await load(() => import("./lightbox"))).openLightbox(target));
  } else openMention(target);
}

function onKeyDown(event: KeyboardEvent): void {
  const target = event.target as HTMLElement;
  if (!target.matches?.(".message-body [role=button]") || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  openMention(target);
}

async function copyCode(button: HTMLElement): Promise<void> {
  const text = button.closest(".codehilite")?.querySelector("code")?.textContent ?? "";
  const isCopied = await copyText(text.replace(/\n$/, ""));
  toast(isCopied ? i18n.t("Code copied.") : i18n.t("The browser does not allow copying."), { isProblem: !isCopied });
}

function toggleSpoiler(header: HTMLElement): void {
  const button = header.querySelector(":scope > .spoiler-button");
  const content = header.parentElement?.querySelector<HTMLElement>(":scope > .spoiler-content");
  if (!button || !content) return;
  content.hidden = !content.hidden;
  button.setAttribute("aria-expanded", String(!content.hidden));
}

function openMention(span: HTMLElement): void {
  const { userId, userGroupId } = span.dataset;
  if (userGroupId !== undefined) go(`#groups/${userGroupId}`);
  else if (userId !== undefined && userId !== "*") showUserCard(Number(userId), span);
}

document.addEventListener("click", onClick);
document.addEventListener("keydown", onKeyDown);
