// A conversation with a model that has a chat template: messages, and the answer as it arrives.

import { element } from "./card.js";
import { complete } from "./server.js";

const list = /** @type {HTMLElement} */ (document.getElementById("talk"));

/** @type {{role: "user" | "assistant", content: string}[]} */
let messages = [];

/** Begin a new conversation. */
export function clearChat() {
  messages = [];
  list.replaceChildren();
}

/**
 * Send a message and show the answer; without one, the message is not kept.
 *
 * @param {string} content
 * @param {object} options  model, routing and sampling; empty ones are left out
 * @param {AbortSignal} signal
 */
export async function send(content, options, signal) {
  const asked = show("user", content);
  const answer = show("assistant", "");
  let text = "";
  try {
    const given = Object.entries(options).filter(([, value]) => value !== "");
    const body = { ...Object.fromEntries(given), messages: [...messages, { role: "user", content }] };
    for await (const chunk of complete(body, signal, "chat/completions")) {
      text += chunk.choices[0]?.delta?.content ?? "";
      answer.textContent = text;
      answer.scrollIntoView({ block: "nearest" });
    }
  } finally {
    if (text) messages.push({ role: "user", content }, { role: "assistant", content: text });
    else for (const item of [asked, answer]) item.remove();
  }
}

/** @param {"user" | "assistant"} role @param {string} content */
function show(role, content) {
  const item = element("li", role, content);
  item.dir = "auto";
  list.append(item);
  return item;
}
