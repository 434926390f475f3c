// The page: one text, one or two that continue it, and what the reader does.

import { Editor } from "./editor.js";
import { copyLink, readLink, writeLink } from "./link.js";
import { byKeys, byPointer, isLooking, lookAt, lookAway } from "./looking.js";
import { asked, onSetting, pointAt, setSettings, settings } from "./sampling.js";
import { models, Problem, useKey } from "./server.js";
import { Voice } from "./voice.js";
import { counted } from "./words.js";

/** @param {string} id */
const by = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [write, read, back] = ["write", "read", "back"].map(
  (id) => /** @type {HTMLButtonElement} */ (by(id)),
);
const secret = /** @type {HTMLInputElement} */ (by("secret"));

/** @type {import("./server.js").Model[]} */
let served = [];
/** @type {Voice[]} */
let voices = [];
/** @type {AbortController | null} */
let running = null;
/** @type {string[]} */
const before = []; // the text as it was, each time something was written
let again = start; // what to do once there is a key

let typed = 0; // waits until the reader pauses

const editor = new Editor(() => {
  lookAway();
  show();
  clearTimeout(typed);
  typed = setTimeout(remember, 800);
});

let figured = 0; // when facts and legends were shown last

/** Show every text as it stands; while it grows, the figures beside it less often. */
function show() {
  if (!voices.length) return;
  const figures = !running || performance.now() - figured > 200;
  if (figures) figured = performance.now();
  const [first] = voices;
  const alone = voices.length === 1;
  const writing = alone && running && first.fresh ? first.telling : null;
  const written = writing?.text ?? editor.text;
  editor.show(written, alone ? first.telling : null);
  for (const voice of voices) {
    const told = voice.telling?.text ?? "";
    if (!alone) voice.own.show(told, voice.telling);
    if (figures) voice.tell(alone ? written : told, alone ? editor.reading : voice.own);
    voice.keep.hidden = alone || running !== null || told.length <= (voice.telling?.prompt ?? "").length;
  }
}

let waiting = 0;

/** Show once the screen is drawn next, however much came. */
function showSoon() {
  waiting ||= requestAnimationFrame(() => {
    waiting = 0;
    show();
  });
}

/**
 * Let every voice continue the text, or only read it.
 *
 * @param {boolean} writes
 */
async function run(writes) {
  const sampling = asked();
  if (running || !voices.length || !sampling) return;
  again = () => run(writes);
  const prompt = editor.text;
  const wanted = writes ? sampling : { ...sampling, max_tokens: 0 };
  const { signal } = (running = new AbortController());
  const began = performance.now();
  lookAway();
  report(null);
  busy(writes ? "Writing …" : "Reading …");
  const ends = await Promise.allSettled(
    voices.map((voice) => voice.write(prompt, wanted, signal, showSoon)),
  );
  const stopped = signal.aborted;
  running = null;
  busy(null);
  if (voices.length === 1 && voices[0].fresh) settle(voices[0].telling?.text ?? prompt);
  show();
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) report(failed.reason);
  say(failed ? "" : summary(writes, stopped, performance.now() - began));
  remember();
}

/** What was written becomes text like any other. @param {string} text */
function settle(text) {
  if (text === editor.text) return;
  before.push(editor.text);
  back.disabled = false;
  editor.put(text);
}

/** The text as it was before something was written. */
function takeBack() {
  editor.put(before.pop() ?? editor.text);
  back.disabled = !before.length;
  show();
  remember();
}

/** What a run came to. @param {boolean} writes @param {boolean} stopped @param {number} time  ms */
function summary(writes, stopped, time) {
  const tokens = voices.flatMap((voice) => (voice.fresh && voice.telling?.tokens) || []);
  const count = tokens.filter((token) => token.given !== writes).length;
  const seconds = (time / 1000).toFixed(1);
  const ended = voices.length === 1 && voices[0].telling?.reason === "stop" ? ", to its end" : "";
  const how = stopped ? "; stopped" : ended;
  return `${counted(count, "token")} ${writes ? "written" : "read"} in ${seconds} s${how}`;
}

/** @param {string | null} doing */
function busy(doing) {
  editor.writing = doing !== null;
  document.body.classList.toggle("busy", doing !== null);
  write.textContent = doing ? "Stop" : "Write";
  read.disabled = doing !== null;
  back.disabled = doing !== null || !before.length;
  if (doing) say(doing);
}

/** @param {string} words */
function say(words) {
  by("status").textContent = words;
}

/** Tell what went wrong, or that nothing did. @param {unknown} problem */
function report(problem) {
  const known = problem instanceof Problem ? problem : null;
  const wantsKey = known?.status === 401;
  const wrongKey = wantsKey && !by("key").hidden ? "The server does not know this key." : "";
  by("problem").textContent = wantsKey ? wrongKey : String(known?.message ?? problem ?? "");
  pointAt(known?.field ?? null);
  by("key").hidden = !wantsKey;
  if (wantsKey) secret.focus();
}

/** How many write. @param {number} count */
function setVoices(count) {
  voices = voices.slice(0, count);
  while (voices.length < count) {
    const voice = new Voice(served, () => (show(), remember()));
    voice.keep.addEventListener("click", () => goOn(voice));
    byPointer(voice.own.element, () => voice.own);
    byKeys(voice.own);
    if (voices.length) voice.differ(voices[0]);
    voices.push(voice);
  }
  by("voices").replaceChildren(...voices.map((voice) => voice.element));
  document.body.classList.toggle("beside", count > 1);
  by("compare").setAttribute("aria-pressed", String(count > 1));
}

/** The text becomes what one of two wrote. @param {Voice} voice */
function goOn(voice) {
  settle(voice.telling?.text ?? editor.text);
  editor.area.focus();
  show();
  remember();
}

/** Keep the page's state in its address; false where it is too long for one. */
function remember() {
  clearTimeout(typed);
  const [first, second] = voices.map((voice) => voice.chosen());
  const other = second && Object.entries(second).map(([name, value]) => [`${name}2`, value]);
  return writeLink({ text: editor.text, ...first, ...Object.fromEntries(other ?? []), ...settings() });
}

/** Take the page's state from its address. */
function recall() {
  const { text = "", model, routing, language, model2, routing2, language2, ...rest } = readLink();
  setVoices(model2 ? 2 : 1);
  setSettings(rest);
  const unknown = [
    voices[0].choose({ model, routing, language }),
    voices[1]?.choose({ model: model2, routing: routing2, language: language2 }),
  ].find((name) => name !== undefined);
  editor.area.value = text;
  say(unknown === undefined ? "" : `The link names ${unknown}, which is not served here.`);
  show();
}

/** Ask what is served. */
async function start() {
  again = start;
  editor.area.value ||= readLink().text ?? "";
  editor.show(editor.text, null);
  try {
    served = await models();
  } catch (problem) {
    return report(problem);
  }
  report(null);
  by("compare").hidden = served.length < 2 && served[0].experts.length < 2;
  write.disabled = read.disabled = false;
  recall();
  editor.area.focus({ preventScroll: true });
}

write.addEventListener("click", () => (running ? running.abort() : run(true)));
read.addEventListener("click", () => run(false));
for (const button of [write, read, back])
  button.addEventListener("pointerdown", (event) => event.preventDefault()); // the cursor stays
back.addEventListener("click", takeBack);
by("compare").addEventListener("click", () => {
  if (running) return;
  setVoices(voices.length === 1 ? 2 : 1);
  show();
  remember();
});
by("share").addEventListener("click", async () => {
  const fits = remember();
  const copied = fits && (await copyLink());
  const found = copied ? "Link copied" : "The link is this page's address.";
  say(fits ? found : "The text is too long for a link.");
});
by("key").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(secret.value);
  again();
});
onSetting(remember);
addEventListener("hashchange", () => !running && served.length && recall());

byPointer(editor.area, () => editor.reading);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run(!event.shiftKey);
  } else if (event.key === "Escape") {
    if (running) running.abort();
    else lookAway();
  } else if (event.altKey && event.key === "ArrowDown" && event.target === editor.area) {
    event.preventDefault();
    explain();
  }
});
let following = false; // whether the card goes where the cursor goes

/** Look at the token before the cursor. */
function explain() {
  following = true;
  const { reading, area } = editor;
  const at = area.selectionDirection === "backward" ? area.selectionStart : area.selectionEnd;
  lookAt(reading, reading.partAt(Math.max(0, at - 1)), true);
}
document.addEventListener("selectionchange", () => {
  following &&= isLooking();
  if (following && document.activeElement === editor.area) explain();
});
addEventListener("scroll", () => !following && lookAway(), { passive: true });
if (/Mac|iPhone|iPad/.test(navigator.platform))
  for (const key of document.querySelectorAll(".command")) key.textContent = "⌘";
write.disabled = read.disabled = true;
start();
