// The page: one text, one or two panels that continue it, and the user's actions.

import { Editor } from "./editor.js";
import { copyLink, readLink, writeLink } from "./address.js";
import { byKeys, byPointer, isInspecting, inspect, closeInspector } from "./inspect.js";
import { samplingRequest, onSetting, pointAt, setSettings, settings } from "./sampling.js";
import { models, Problem, useKey } from "./server.js";
import { Panel } from "./panel.js";
import { clearChat, send } from "./chat.js";
import { offerExamples } from "./examples.js";
import { counted } from "./format.js";

/** @param {string} id */
const by = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
const [generateButton, scoreButton, undoButton] = ["generate", "score", "undo"].map(
  (id) => /** @type {HTMLButtonElement} */ (by(id)),
);
const secret = /** @type {HTMLInputElement} */ (by("secret"));

/** @type {import("./server.js").Model[]} */
let served = [];
/** @type {Panel[]} */
let panels = [];
/** @type {AbortController | null} */
let running = null;
/** @type {string[]} */
const before = []; // the text before each generation
let again = start; // what to repeat once there is a key
let typed = 0; // a timer until the user pauses

const editor = new Editor(() => {
  closeInspector();
  show();
  clearTimeout(typed);
  typed = setTimeout(saveState, 800);
});

let figured = 0; // when facts and legends were last updated
/** Show every text; facts and legends are updated at most five times a second. */
function show() {
  if (!panels.length) return editor.show(editor.text, null);
  const figures = !running || performance.now() - figured > 200;
  if (figures) figured = performance.now();
  const [first] = panels;
  const alone = panels.length === 1;
  const writing = alone && running && first.fresh ? first.completion : null;
  const written = writing?.text ?? editor.text;
  editor.show(written, alone ? first.completion : null);
  const empty = !chatting() && !running && editor.text === "";
  offerExamples(empty ? first.served.examples : {}, (text) => (editor.put(text), show(), run(true)));
  by("chat").hidden = !first.served.chat;
  for (const panel of panels) {
    const text = panel.completion?.text ?? "";
    if (!alone) panel.marked.show(text, panel.completion);
    if (figures) panel.showFacts(alone ? written : text, alone ? editor.marked : panel.marked);
    panel.keep.hidden = alone || running !== null || text.length <= (panel.completion?.prompt ?? "").length;
  }
}

let waiting = 0;
/** Show at the next animation frame. */
function showSoon() {
  waiting ||= requestAnimationFrame(() => {
    waiting = 0;
    show();
  });
}

/**
 * Let every panel continue the text, or only score it.
 *
 * @param {boolean} generates
 */
async function run(generates) {
  const sampling = samplingRequest();
  if (running || !panels.length || !sampling) return;
  again = () => run(generates);
  const prompt = editor.text;
  const chat = chatting();
  if (chat && !(generates && prompt.trim())) return;
  const wanted = generates ? sampling : { ...sampling, max_tokens: 0 };
  const { signal } = (running = new AbortController());
  const began = performance.now();
  closeInspector();
  report(null);
  busy(generates ? "Generating …" : "Scoring …");
  const ends = await Promise.allSettled(
    chat
      ? [send(prompt, { ...panels[0].chosen(), ...sampling }, signal)]
      : panels.map((panel) => panel.generate(prompt, wanted, signal, showSoon)),
  );
  const stopped = signal.aborted;
  running = null;
  busy(null);
  if (chat) editor.put(ends[0].status === "fulfilled" ? "" : prompt);
  else if (panels.length === 1 && panels[0].fresh) settle(panels[0].completion?.text ?? prompt);
  show();
  const failed = ends.find((end) => end.status === "rejected");
  if (failed) report(failed.reason);
  say(failed || chat ? "" : summary(generates, stopped, performance.now() - began));
  saveState();
}

/** Whether the text is a message of a conversation. */
function chatting() {
  return document.body.classList.contains("chat");
}

/** Continue with text or conversations. @param {boolean} on */
function setChat(on) {
  if (on) setPanels(1);
  document.body.classList.toggle("chat", on);
  by("chat").setAttribute("aria-pressed", String(on));
  by("talk").hidden = !on;
  generateButton.textContent = on ? "Send" : "Generate";
  clearChat();
  editor.put("");
  show();
}

/** Make the generated text editable. @param {string} text */
function settle(text) {
  if (text === editor.text) return;
  before.push(editor.text);
  undoButton.disabled = false;
  editor.put(text);
}

/** Undo the last generation. */
function undo() {
  editor.put(before.pop() ?? editor.text);
  undoButton.disabled = !before.length;
  show();
  saveState();
}

/** The status line after a request. @param {boolean} generates @param {boolean} stopped @param {number} time  ms */
function summary(generates, stopped, time) {
  const tokens = panels.flatMap((panel) => (panel.fresh && panel.completion?.tokens) || []);
  const count = tokens.filter((token) => token.given !== generates).length;
  const seconds = (time / 1000).toFixed(1);
  const ended = panels.length === 1 && panels[0].completion?.reason === "stop" ? ", finished" : "";
  const how = stopped ? "; stopped" : ended;
  if (generates && ended && tokens.length && panels[0].completion?.text === panels[0].completion?.prompt)
    return "The model ends the text here.";
  return `${counted(count, "token")} ${generates ? "generated" : "scored"} in ${seconds} s${how}`;
}

/** @param {string | null} doing */
function busy(doing) {
  editor.writing = doing !== null;
  document.body.classList.toggle("busy", doing !== null);
  generateButton.textContent = doing ? "Stop" : chatting() ? "Send" : "Generate";
  scoreButton.disabled = doing !== null;
  undoButton.disabled = doing !== null || !before.length;
  if (doing) say(doing);
}

/** @param {string} words */
function say(words) {
  by("status").textContent = words;
}

/** Show an error, or none. @param {unknown} problem */
function report(problem) {
  const known = problem instanceof Problem ? problem : null;
  const wantsKey = known?.status === 401;
  const wrongKey = wantsKey && !by("key").hidden ? "The server rejected this key." : "";
  by("problem").textContent = wantsKey ? wrongKey : String(known?.message ?? problem ?? "");
  pointAt(known?.field ?? null);
  by("key").hidden = !wantsKey;
  if (wantsKey) secret.focus();
}

/** Set the number of panels. @param {number} count */
function setPanels(count) {
  panels = panels.slice(0, count);
  while (panels.length < count) {
    const panel = new Panel(served, () => {
      if (chatting()) setChat(panels[0].served.chat);
      show();
      saveState();
    });
    panel.keep.addEventListener("click", () => continueWith(panel));
    byPointer(panel.marked.element, () => panel.marked);
    byKeys(panel.marked);
    if (panels.length) panel.differ(panels[0]);
    panels.push(panel);
  }
  by("panels").replaceChildren(...panels.map((panel) => panel.element));
  document.body.classList.toggle("compare", count > 1);
  by("compare").setAttribute("aria-pressed", String(count > 1));
}

/** Continue with one panel's text. @param {Panel} panel */
function continueWith(panel) {
  settle(panel.completion?.text ?? editor.text);
  editor.area.focus();
  show();
  saveState();
}

/** Write the page's state to its address; false if it is too long. */
function saveState() {
  clearTimeout(typed);
  const [first, second] = panels.map((panel) => panel.chosen());
  const other = Object.entries(second ?? {}).map(([name, value]) => [`${name}2`, value]);
  const chosen = first ? { ...first, ...Object.fromEntries(other) } : readLink();
  return writeLink({ ...chosen, text: editor.text, ...settings() });
}

/** Read the page's state from its address. */
function restore() {
  const link = readLink();
  setSettings(link);
  editor.area.value = link.text ?? "";
  if (served.length) choosePanels();
  show();
}

/** Choose the models that the address names. */
function choosePanels() {
  const link = readLink();
  setPanels(link.model2 ? 2 : 1);
  const [unknown] = panels.flatMap((panel, i) => panel.choose(link, i ? "2" : "") ?? []);
  say(unknown === undefined ? "" : `The link names ${unknown}, which is not served here.`);
}

/** Load the list of models. */
async function start() {
  again = start;
  try {
    served = await models();
  } catch (problem) {
    return say(""), report(problem);
  }
  report(null);
  by("compare").hidden = served.length < 2 && served[0].experts.length < 2;
  generateButton.disabled = scoreButton.disabled = false;
  choosePanels();
  show();
  editor.area.focus({ preventScroll: true });
}

generateButton.addEventListener("click", () => (running ? running.abort() : run(true)));
scoreButton.addEventListener("click", () => run(false));
for (const button of [generateButton, scoreButton, undoButton])
  button.addEventListener("pointerdown", (event) => event.preventDefault()); // keep the cursor
undoButton.addEventListener("click", undo);
by("compare").addEventListener("click", () => {
  if (running) return;
  setPanels(panels.length === 1 ? 2 : 1);
  show();
  saveState();
});
by("chat").addEventListener("click", () => !running && setChat(!chatting()));
by("share").addEventListener("click", async () => {
  if (!saveState()) return say("The text is too long for a link.");
  say((await copyLink()) ? "Link copied" : "The link is this page's address.");
});
by("key").addEventListener("submit", (event) => {
  event.preventDefault();
  useKey(secret.value);
  again();
});
onSetting(saveState);
addEventListener("hashchange", () => !running && restore());

byPointer(editor.area, () => editor.marked);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run(!event.shiftKey);
  } else if (event.key === "Escape") {
    if (running) running.abort();
    else closeInspector();
  } else if (event.altKey && event.key === "ArrowDown" && event.target === editor.area) {
    event.preventDefault();
    explain();
  }
});
let following = false; // whether the card follows the cursor

/** Show the token before the cursor. */
function explain() {
  following = true;
  const { marked, area } = editor;
  const at = area.selectionDirection === "backward" ? area.selectionStart : area.selectionEnd;
  inspect(marked, marked.partAt(Math.max(0, at - 1)), true);
}
document.addEventListener("selectionchange", () => {
  following &&= isInspecting();
  if (following && document.activeElement === editor.area) explain();
});
addEventListener("scroll", () => !following && closeInspector(), { passive: true });
if (/Mac|iPhone|iPad/.test(navigator.platform))
  for (const key of document.querySelectorAll(".command")) key.textContent = "⌘";
restore();
start();
