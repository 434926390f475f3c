// The page's state in the fragment of its address, which the browser never sends.

const LONGEST = 100_000; // characters; longer addresses are often cut when pasted

/** @typedef {Record<string, string>} State */

/** The state in the address. @returns {State} */
export function readLink() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

/**
 * Write the state to the address; false if it is too long.
 *
 * @param {State} state  empty values are left out
 */
export function writeLink(state) {
  const values = new URLSearchParams(Object.entries(state).filter(([, value]) => value !== ""));
  const fragment = values.toString();
  const fits = fragment.length <= LONGEST;
  history.replaceState(null, "", fragment && fits ? `#${fragment}` : location.pathname);
  return fits;
}

/** Copy the address to the clipboard; false if the browser forbids it. */
export async function copyLink() {
  try {
    await navigator.clipboard.writeText(location.href);
    return true;
  } catch {
    return false;
  }
}
