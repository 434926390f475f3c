// A panel: a model with a routing, its results, and its experts.

import { element } from "./card.js";
import { ink } from "./marks.js";
import { MarkedText } from "./marked.js";
import { newCompletion, bitsPerByte, addChunk, tokensByExpert, spans } from "./completion.js";
import { complete } from "./server.js";
import { counted, languageName, modelName } from "./format.js";

/** @typedef {import("./server.js").Model} Model */

const pattern = /** @type {HTMLTemplateElement} */ (document.getElementById("panel"));

/** A model and a routing that continue the page's text. */
export class Panel {
  /**
   * @param {Model[]} models
   * @param {() => void} chosen  called when the user changes a choice
   */
  constructor(models, chosen) {
    const copy = /** @type {DocumentFragment} */ (pattern.content.cloneNode(true));
    this.element = /** @type {HTMLElement} */ (copy.firstElementChild);
    this.models = models;
    this.model = this.choice("model");
    this.routing = this.choice("routing");
    this.language = this.choice("language");
    this.keep = /** @type {HTMLButtonElement} */ (this.element.querySelector(".keep"));
    this.marked = new MarkedText(/** @type {HTMLElement} */ (this.element.querySelector(".written")));
    /** @type {import("./completion.js").Completion | null} */
    this.completion = null;
    this.fresh = false; // whether the completion belongs to the latest request
    offer(this.model, models.map((one) => [one.id, modelName(one.id)]));
    this.element.addEventListener("change", (event) => {
      if (event.target === this.model) this.offerRoutings();
      this.completion = null;
      this.settle();
      chosen();
    });
    this.offerRoutings();
  }

  /** @param {string} name */
  choice(name) {
    return /** @type {HTMLSelectElement} */ (this.element.querySelector(`[name=${name}]`));
  }

  /** The selected model. @returns {Model} */
  get served() {
    return this.models[this.model.selectedIndex];
  }

  /** List the routings and languages of the model. */
  offerRoutings() {
    const { served } = this;
    offer(this.routing, served.routings.map(({ routing, title }) => [routing, title]));
    offer(this.language, served.languages.map((tag) => [tag, languageName(tag)]));
    this.settle();
  }

  /**
   * Select another model than the first panel, or with one model another routing.
   *
   * @param {Panel} first
   */
  differ(first) {
    const next = (first.model.selectedIndex + 1) % this.models.length;
    this.choose({ model: this.models[next].id });
    if (this.models.length === 1) this.routing.selectedIndex = Math.min(1, this.routing.length - 1);
    this.settle();
  }

  /** Hide the choices with one option. */
  settle() {
    hide(this.model, this.models.length < 2);
    hide(this.routing, this.served.experts.length < 2);
    hide(this.language, this.routing.value !== "language");
  }

  /**
   * Select by name; unknown names change nothing.
   *
   * @param {Record<string, string>} names  `model`, `routing` and `language`
   * @param {string} suffix  of these
   * @returns {string | undefined} the first unknown name
   */
  choose(names, suffix = "") {
    const unknown = [];
    for (const field of /** @type {const} */ (["model", "routing", "language"])) {
      const value = names[field + suffix];
      const known = [...this[field].options].some((option) => option.value === value);
      if (known) this[field].value = value;
      else if (value) unknown.push(value);
      if (field === "model" && known) this.offerRoutings();
    }
    this.settle();
    return unknown[0];
  }

  /** The selection, without defaults. */
  chosen() {
    const routing = this.routing.value === this.served.routing ? "" : this.routing.value;
    const language = this.routing.value === "language" ? this.language.value : "";
    return { model: this.model.value, routing, language };
  }

  /**
   * Continue a text; call `onChunk` after every chunk.
   *
   * @param {string} text
   * @param {{max_tokens: number}} sampling
   * @param {AbortSignal} signal
   * @param {() => void} onChunk
   */
  async generate(text, sampling, signal, onChunk) {
    const { model, routing, language } = this.chosen();
    const options = { ...(routing && { routing }), ...(language && { language }) };
    const completion = newCompletion(text);
    this.fresh = false;
    const details = { echo: true, logprobs: 5, weights: true };
    const body = { model, prompt: text, ...options, ...sampling, ...details };
    for await (const chunk of complete(body, signal)) {
      addChunk(completion, chunk);
      if (completion.end === null) continue; // the prompt is still being read
      this.completion = completion;
      this.fresh = true;
      onChunk();
    }
  }

  /**
   * Show the facts and the tokens per expert.
   *
   * @param {string} text
   * @param {MarkedText | null} marked  that displays it
   */
  showFacts(text, marked) {
    const facts = /** @type {HTMLElement} */ (this.element.querySelector(".facts"));
    const experts = /** @type {HTMLElement} */ (this.element.querySelector(".experts"));
    const parts = marked?.parts ?? [];
    const bits = [true, false].map((given) => bitsPerByte(parts, text, given));
    const [prompt, generated] = bits.map((one) => (one === null ? "–" : one.toFixed(2)));
    const language = parts.length ? this.completion?.language : null;
    facts.replaceChildren(
      ...(language ? [fact("Detected language", languageName(language))] : []),
      fact("Bits per byte, prompt", prompt),
      fact("Bits per byte, generated", generated),
    );
    facts.hidden = !parts.length;
    const { served } = this;
    const counts = tokensByExpert(parts, served.experts.length);
    const limit = Math.max(1, ...counts.map((one) => one.given + one.written));
    experts.replaceChildren(
      ...served.experts.map((expert, i) => legend(expert, counts[i], limit, parts.length > 0)),
    );
    experts.hidden = served.experts.length < 2;
  }
}

/**
 * An expert's line in the legend.
 *
 * @param {Model["experts"][number]} expert
 * @param {{given: number, written: number}} count
 * @param {number} limit  the highest number of tokens of any expert
 * @param {boolean} scored  whether the text has known tokens
 */
function legend({ name, languages }, { given, written }, limit, scored) {
  const { colour, pattern: line } = ink(name);
  const swatch = element("i", "swatch");
  const item = element("li", given + written || !scored ? "" : "silent");
  item.style.setProperty("--colour", colour);
  item.style.setProperty("--pattern", line);
  const share = element("i", "share");
  share.style.setProperty("--share", String((given + written) / limit));
  const names = languages.map(languageName).filter((one) => one !== name);
  const label = element("span", "name", swatch, element("bdi", "", name));
  const tokens = element("span", "number", scored ? String(given + written) : "");
  tokens.title = scored ? `${counted(given, "token")} of the prompt, ${written} generated` : "";
  item.append(label, tokens);
  if (names.length) item.append(element("span", "quiet", names.join(", ")));
  if (scored) item.append(share);
  return item;
}

/** @param {string} name @param {string} value */
function fact(name, value) {
  return element("div", "", element("dt", "", name), element("dd", "", value));
}

/** @param {HTMLSelectElement} select @param {string[][]} choices */
function offer(select, choices) {
  select.replaceChildren(...choices.map(([value, label]) => new Option(label, value)));
}

/** @param {HTMLSelectElement} select @param {boolean} hidden */
function hide(select, hidden) {
  /** @type {HTMLElement} */ (select.parentElement).hidden = hidden;
}
