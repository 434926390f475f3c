// The settings of writing: a form, what the server is asked, what a link says.

import { unescaped } from "./words.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("sampling"));
const details = /** @type {HTMLDetailsElement} */ (form.closest("details"));
const inputs = [...form.querySelectorAll("input")];
const narrow = matchMedia("(max-width: 760px)");

/** What each setting is called in a request, where not as here. */
const NAMES = /** @type {Record<string, string>} */ ({ most: "max_tokens" });

if (narrow.matches) details.open = false;

/** Call back when a setting changes. @param {() => void} changed */
export function onSetting(changed) {
  form.addEventListener("change", (event) => {
    /** @type {HTMLInputElement} */ (event.target).removeAttribute("aria-invalid");
    changed();
  });
  form.addEventListener("submit", (event) => event.preventDefault());
}

/**
 * The settings as a request has them; null where one cannot be, which is then pointed at.
 *
 * @returns {any}
 */
export function asked() {
  if (!form.checkValidity()) details.open = true;
  if (!form.reportValidity()) return null;
  const filled = inputs.filter((input) => input.value !== "");
  return Object.fromEntries(
    filled.map(({ name, type, value }) => [
      NAMES[name] ?? name,
      type === "number" ? Number(value) : unescaped(value),
    ]),
  );
}

/** Point at the setting that the server would not have. @param {string | null} field */
export function pointAt(field) {
  for (const input of inputs) {
    const meant = (NAMES[input.name] ?? input.name) === field;
    if (meant) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (meant) details.open = true;
  }
}

/** The settings by name, empty where they are as a new page has them. */
export function settings() {
  return Object.fromEntries(
    inputs.map(({ name, value, defaultValue }) => [name, value === defaultValue ? "" : value]),
  );
}

/** @param {Record<string, string>} said */
export function setSettings(said) {
  for (const input of inputs) input.value = said[input.name] ?? input.defaultValue;
}
