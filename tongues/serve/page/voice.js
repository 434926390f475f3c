// One that writes: a model with a routing, what it found, and its experts.

import { element } from "./card.js";
import { ink } from "./marks.js";
import { Reading } from "./reading.js";
import { begin, bitsPerByte, hear, spoken, stretches } from "./told.js";
import { complete, Problem } from "./server.js";
import { counted, languageName, modelName } from "./words.js";

/** @typedef {import("./server.js").Model} Model */

const pattern = /** @type {HTMLTemplateElement} */ (document.getElementById("voice"));

/** A model and a routing that continue the page's text. */
export class Voice {
  /**
   * @param {Model[]} models
   * @param {() => void} chosen  called when the reader chooses another
   */
  constructor(models, chosen) {
    const copy = /** @type {DocumentFragment} */ (pattern.content.cloneNode(true));
    this.element = /** @type {HTMLElement} */ (copy.firstElementChild);
    this.models = models;
    this.model = this.choice("model");
    this.routing = this.choice("routing");
    this.language = this.choice("language");
    this.keep = /** @type {HTMLButtonElement} */ (this.element.querySelector(".keep"));
    this.own = new Reading(/** @type {HTMLElement} */ (this.element.querySelector(".written")));
    /** @type {import("./told.js").Telling | null} */
    this.telling = null;
    this.fresh = false; // whether the telling is of the latest request
    offer(this.model, models.map((one) => [one.id, modelName(one.id)]));
    this.element.addEventListener("change", (event) => {
      if (event.target === this.model) this.offerRoutings();
      this.telling = null;
      this.settle();
      chosen();
    });
    this.offerRoutings();
  }

  /** @param {string} name */
  choice(name) {
    return /** @type {HTMLSelectElement} */ (this.element.querySelector(`[name=${name}]`));
  }

  /** The model that is chosen. @returns {Model} */
  get served() {
    return this.models[this.model.selectedIndex];
  }

  /** Offer what the model can do. */
  offerRoutings() {
    const { served } = this;
    offer(this.routing, served.routings.map(({ routing, title }) => [routing, title]));
    offer(this.language, served.languages.map((tag) => [tag, languageName(tag)]));
    this.settle();
  }

  /**
   * Choose another than this one has: the next model, or of one model the next routing.
   *
   * @param {Voice} first
   */
  differ(first) {
    const next = (first.model.selectedIndex + 1) % this.models.length;
    this.choose({ model: this.models[next].id });
    if (this.models.length === 1) this.routing.selectedIndex = Math.min(1, this.routing.length - 1);
    this.settle();
  }

  /** Show only the choices that there are. */
  settle() {
    hide(this.model, this.models.length < 2);
    hide(this.routing, this.served.experts.length < 2);
    hide(this.language, this.routing.value !== "language");
  }

  /**
   * Choose by name; what is not served stays as it is.
   *
   * @param {{model?: string, routing?: string, language?: string}} names
   * @returns {string | undefined} the first name that is not known here
   */
  choose(names) {
    const unknown = [];
    for (const field of /** @type {const} */ (["model", "routing", "language"])) {
      const wanted = names[field];
      const known = [...this[field].options].some((option) => option.value === wanted);
      if (known) this[field].value = /** @type {string} */ (wanted);
      else if (wanted) unknown.push(wanted);
      if (field === "model" && known) this.offerRoutings();
    }
    this.settle();
    return unknown[0];
  }

  /** What is chosen, less what goes without saying. */
  chosen() {
    const routing = this.routing.value === this.served.routing ? "" : this.routing.value;
    const language = this.routing.value === "language" ? this.language.value : "";
    return { model: this.model.value, routing, language };
  }

  /**
   * How many tokens to ask for, of so many: no more than the model has room for, as far as one can
   * tell from here, where a token of a text not yet told is taken to be so many bytes.
   *
   * @param {string} text
   * @param {number} most
   * @param {number} bytes
   */
  room(text, most, bytes) {
    const parts = this.telling ? stretches(this.telling, text) : [];
    const told = parts.reduce((sum, part) => sum + part.tokens.length, 0);
    const rest = new TextEncoder().encode(text.slice(parts.at(-1)?.end ?? 0)).length;
    const left = (this.served.context ?? Infinity) - told - Math.ceil(rest / bytes);
    return left >= 1 ? Math.min(most, left) : most;
  }

  /**
   * Continue a text, and tell after every chunk.
   *
   * @param {string} text
   * @param {{max_tokens: number}} sampling
   * @param {AbortSignal} signal
   * @param {() => void} told
   */
  async write(text, sampling, signal, told) {
    const [hoped, sure] = [2, 1].map((bytes) => this.room(text, sampling.max_tokens, bytes));
    try {
      await this.ask(text, { ...sampling, max_tokens: hoped }, signal, told);
    } catch (problem) {
      const long = problem instanceof Problem && problem.code === "context_length_exceeded";
      if (!long || sure >= hoped) throw problem;
      await this.ask(text, { ...sampling, max_tokens: sure }, signal, told);
    }
  }

  /**
   * Have the server continue a text.
   *
   * @param {string} text
   * @param {{max_tokens: number}} sampling
   * @param {AbortSignal} signal
   * @param {() => void} told
   */
  async ask(text, sampling, signal, told) {
    const { model, routing, language } = this.chosen();
    const asked = { ...(routing && { routing }), ...(language && { language }) };
    const telling = begin(text);
    this.fresh = false;
    const beside = { echo: true, logprobs: 5, weights: true };
    const body = { model, prompt: text, ...asked, ...sampling, ...beside };
    for await (const chunk of complete(body, signal)) {
      hear(telling, chunk);
      if (telling.end === null) continue; // it still reads the prompt
      this.telling = telling;
      this.fresh = true;
      told();
    }
  }

  /**
   * Tell what was found in a text and who spoke it.
   *
   * @param {string} text
   * @param {Reading | null} reading  that shows it
   */
  tell(text, reading) {
    const facts = /** @type {HTMLElement} */ (this.element.querySelector(".facts"));
    const experts = /** @type {HTMLElement} */ (this.element.querySelector(".experts"));
    const parts = reading?.parts ?? [];
    const bits = [true, false].map((given) => bitsPerByte(parts, text, given));
    const [read, written] = bits.map((one) => (one === null ? "–" : one.toFixed(2)));
    const language = parts.length ? this.telling?.language : null;
    facts.replaceChildren(
      ...(language ? [fact("Language found", languageName(language))] : []),
      fact("Bits per byte, read", read),
      fact("Bits per byte, written", written),
    );
    facts.hidden = !parts.length;
    const { served } = this;
    const counts = spoken(parts, served.experts.length);
    const most = Math.max(1, ...counts.map((one) => one.given + one.written));
    experts.replaceChildren(
      ...served.experts.map((expert, i) => legend(expert, counts[i], most, parts.length > 0)),
    );
    experts.hidden = served.experts.length < 2;
  }
}

/**
 * An expert's line in the legend.
 *
 * @param {Model["experts"][number]} expert
 * @param {{given: number, written: number}} count
 * @param {number} most  tokens that any expert spoke
 * @param {boolean} told
 */
function legend({ name, languages }, { given, written }, most, told) {
  const { colour, pattern: line } = ink(name);
  const swatch = element("i", "swatch");
  const item = element("li", given + written || !told ? "" : "silent");
  item.style.setProperty("--colour", colour);
  item.style.setProperty("--pattern", line);
  const spoke = element("i", "share");
  spoke.style.setProperty("--share", String((given + written) / most));
  const names = languages.map(languageName).filter((one) => one !== name);
  const label = element("span", "name", swatch, element("bdi", "", name));
  const tokens = element("span", "number", told ? String(given + written) : "");
  tokens.title = told ? `${counted(given, "token")} read, ${written} written` : "";
  item.append(label, tokens);
  if (names.length) item.append(element("span", "quiet", names.join(", ")));
  if (told) item.append(spoke);
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
