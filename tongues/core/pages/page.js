// Draws every panel in the palette of the page, and again when that or the width changes.
const drawing = JSON.parse(document.getElementById("drawing").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
let views = [];
// A title in as many lines as a narrow panel needs: letters and the axis next to it, in pixels.
function fitted(spec, width) {
  if (typeof spec.title !== "string") return spec;
  const most = (width - 70) / 8.4;
  const lines = spec.title.split(" ").reduce((found, word) => {
    const last = found[found.length - 1];
    return last && last.length + word.length < most
      ? [...found.slice(0, -1), `${last} ${word}`]
      : [...found, word];
  }, []);
  return { ...spec, title: lines };
}
async function draw() {
  views.forEach((view) => view.finalize());
  const config = drawing.palettes[dark.matches ? "dark" : "light"];
  const panels = document.querySelectorAll(".panel");
  const options = { config, actions: false, renderer: "svg", tooltip: { theme: "custom" } };
  views = await Promise.all(
    Array.from(panels, (panel, i) =>
      vegaEmbed(panel, fitted(drawing.panels[i], panel.clientWidth), options),
    ),
  );
}
dark.addEventListener("change", draw);
let width = innerWidth;
let waiting = 0;
addEventListener("resize", () => {
  clearTimeout(waiting);
  if (innerWidth !== width) waiting = setTimeout(() => ((width = innerWidth), draw()), 200);
});
draw();
