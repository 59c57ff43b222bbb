// What the search box offers while somebody types: a combobox by the pattern of
// the ARIA practices. Without this script, or while nothing is offered, the box
// is a plain field of a form.
(() => {
  "use strict";
  const box = document.getElementById("search");
  const list = document.getElementById("choices");
  if (!box || !list) return;

  box.setAttribute("role", "combobox");
  box.setAttribute("aria-autocomplete", "list");
  box.setAttribute("aria-controls", "choices");
  box.setAttribute("aria-expanded", "false");

  const CHOICE = "[role=option][data-take]"; // a note cannot be taken
  const options = () => Array.from(list.querySelectorAll(CHOICE));
  const active = () => list.querySelector("[aria-selected=true]");
  const shown = () => !list.hidden;

  const show = (on) => {
    list.hidden = !on;
    box.setAttribute("aria-expanded", String(on));
    if (!on) activate(null);
  };
  const activate = (option) => {
    for (const other of options()) other.setAttribute("aria-selected", String(other === option));
    if (option) {
      box.setAttribute("aria-activedescendant", option.id);
      option.scrollIntoView({ block: "nearest" });
    } else box.removeAttribute("aria-activedescendant");
  };
  const take = (option) => {
    box.value = option.dataset.take;
    const caret = Number(option.dataset.caret);
    box.focus();
    box.setSelectionRange(caret, caret);
    show(false);
    if (!box.value.slice(0, caret).endsWith(" ")) ask(); // a key wants a value next
  };
  const ask = () => box.dispatchEvent(new CustomEvent("complete"));

  let at = ""; // the text that was asked about, to know a late answer
  box.addEventListener("htmx:configRequest", (event) => {
    at = box.value;
    event.detail.parameters.at = String(box.selectionStart);
  });
  list.addEventListener("htmx:afterSwap", () => {
    show(list.childElementCount > 0 && document.activeElement === box && at === box.value);
  });
  // It offers help; where it cannot, nobody needs to be told.
  for (const failed of ["htmx:responseError", "htmx:sendError"]) {
    box.addEventListener(failed, (event) => {
      event.stopPropagation();
      show(false);
    });
  }

  box.addEventListener("keydown", (event) => {
    if (event.isComposing || event.metaKey || event.ctrlKey || event.altKey) return;
    const all = options();
    const now = all.indexOf(active());
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (!shown()) {
        ask();
        return;
      }
      const by = event.key === "ArrowDown" ? 1 : -1;
      const next = now < 0 && by < 0 ? all.length - 1 : now + by;
      activate(all[next] || null); // past either end: back in the text
    } else if (shown() && active() && (event.key === "Enter" || (event.key === "Tab" && !event.shiftKey))) {
      event.preventDefault();
      take(active());
    } else if (event.key === "Enter" || event.key === "Tab") {
      show(false);
    } else if (shown() && event.key === "Escape") {
      event.preventDefault();
      event.stopPropagation(); // a second one leaves the box
      show(false);
    }
  });
  // Before the box loses the focus to what is pressed.
  list.addEventListener("pointerdown", (event) => {
    const option = event.target.closest(CHOICE);
    event.preventDefault();
    if (option) take(option);
  });
  list.addEventListener("pointermove", (event) => {
    const option = event.target.closest(CHOICE);
    if (option && option !== active()) activate(option);
  });
  box.addEventListener("input", () => activate(null));
  box.addEventListener("blur", () => show(false));
  if (box.form) box.form.addEventListener("submit", () => show(false));
})();
