// Runs before the first paint, so that a page never flashes in the other
// theme. Everything else waits in app.js.
(() => {
  const root = document.documentElement;
  root.classList.add("js");
  try {
    const theme = localStorage.getItem("theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  } catch {
    // Storage may be forbidden; the system's preference then holds.
  }
})();
