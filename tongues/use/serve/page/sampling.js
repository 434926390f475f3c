// The sampling settings: a form, as a request, and in a link.

import { unescaped } from "./format.js";

const form = /** @type {HTMLFormElement} */ (document.getElementById("sampling"));
const details = /** @type {HTMLDetailsElement} */ (form.closest("details"));
const inputs = [...form.querySelectorAll("input")];
const narrow = matchMedia("(max-width: 760px)");

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
 * The settings as fields of a request; null if one is invalid, which is then highlighted.
 *
 * @returns {any}
 */
export function samplingRequest() {
  if (!form.checkValidity()) details.open = true;
  if (!form.reportValidity()) return null;
  const filled = inputs.filter((input) => input.value !== "");
  return Object.fromEntries(
    filled.map(({ name, type, value }) => [
      name,
      type === "number" ? Number(value) : unescaped(value),
    ]),
  );
}

/** Highlight the setting that the server rejected. @param {string | null} field */
export function pointAt(field) {
  for (const input of inputs) {
    const meant = input.name === field;
    if (meant) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    if (meant) details.open = true;
  }
}

/** The settings by name, empty where they are the defaults. */
export function settings() {
  return Object.fromEntries(
    inputs.map(({ name, value, defaultValue }) => [name, value === defaultValue ? "" : value]),
  );
}

/** @param {Record<string, string>} values */
export function setSettings(values) {
  for (const input of inputs) input.value = values[input.name] ?? input.defaultValue;
}
