// Draws every panel in the palette of the page, and again when that or the width changes.
const drawing = JSON.parse(document.getElementById("drawing").textContent);
const dark = matchMedia("(prefers-color-scheme: dark)");
let views = [];
async function draw() {
  views.forEach((view) => view.finalize());
  const config = drawing.palettes[dark.matches ? "dark" : "light"];
  const panels = document.querySelectorAll(".panel");
  const options = { config, actions: false, renderer: "svg", tooltip: { theme: "custom" } };
  views = await Promise.all(
    Array.from(panels, (panel, i) => vegaEmbed(panel, drawing.panels[i], options)),
  );
}
dark.addEventListener("change", draw);
draw();
