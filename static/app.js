// What a script adds to pages that work without one: keys, selection, dialogs,
// the viewer's time zone, copying, and a word when a request fails. Nothing
// here decides anything; every change goes through a form that also posts by
// itself.
(() => {
  "use strict";

  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const visible = (element) => element.getClientRects().length > 0;
  // Asked for each time: going back in the history draws the whole body anew.
  const theDialog = () => document.getElementById("dialog");
  const keysDialog = () => document.getElementById("keys");

  // --- Words at the edge of the screen

  const toast = (words) => {
    const place = document.getElementById("toast");
    if (!place) return;
    const line = document.createElement("div");
    line.className = "notice bad";
    line.textContent = words;
    const close = document.createElement("button");
    close.type = "button";
    close.className = "btn small";
    close.textContent = "Close";
    close.dataset.toastClose = "";
    line.append(close);
    place.replaceChildren(line); // one at a time: a queue of failures hides the page
  };

  const failure = (status) => {
    if (status === 401) return "Your session ended. Sign in again; nothing was changed.";
    if (status === 403) return "Your role does not allow this. Nothing was changed.";
    if (status === 409) return "This changed since you looked. Nothing was done; reload to see it as it is.";
    if (status === 429) return "Too many requests. Wait a moment and try again.";
    return "The server could not answer (" + status + "). Nothing was changed; try again.";
  };

  // --- htmx

  document.addEventListener("htmx:configRequest", (event) => {
    const token = document.querySelector("meta[name=csrf]");
    if (token && event.detail.verb !== "get") event.detail.headers["X-CSRF-Token"] = token.content;
  });
  // An error that brings its own words is put where the server says; htmx
  // would drop it. What asks by itself stays silent and asks again.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const detail = event.detail;
    if (detail.xhr.status < 400 || !detail.xhr.getResponseHeader("HX-Retarget") || asksByItself(detail.requestConfig.elt)) return;
    detail.shouldSwap = true;
    detail.isError = false;
    document.getElementById("toast").replaceChildren();
  });
  document.addEventListener("htmx:responseError", (event) => {
    if (!asksByItself(event.target)) toast(failure(event.detail.xhr.status));
  });
  document.addEventListener("htmx:sendError", (event) => {
    if (!asksByItself(event.target)) toast("The server cannot be reached. Nothing was changed; try again.");
  });

  const asksByItself = (element) => (element.getAttribute("hx-trigger") || "").startsWith("every");

  // A page that nobody looks at does not ask again, and one on which a menu
  // is open stays still.
  document.addEventListener("htmx:beforeRequest", (event) => {
    const element = event.target;
    if (!asksByItself(element)) return;
    if (document.hidden || element.querySelector("details.menu[open]")) event.preventDefault();
  });

  // A region that is drawn anew gives the focus back to the button that had it.
  let focused = "";
  document.addEventListener("htmx:beforeSwap", () => {
    const form = document.activeElement && document.activeElement.closest("form");
    focused = form ? form.getAttribute("action") : "";
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (!focused || document.activeElement !== document.body) return;
    const form = all("form").find((f) => f.getAttribute("action") === focused);
    const button = form && form.querySelector("button");
    if (button) button.focus({ preventScroll: true });
  });
  // The search box stands outside the list that a filter replaces.
  document.addEventListener("htmx:afterSwap", () => {
    const list = document.querySelector("[data-query]");
    const search = document.getElementById("search");
    if (list && search && search !== document.activeElement) search.value = list.dataset.query;
  });
  document.addEventListener("htmx:load", (event) => prepare(event.detail.elt));
  document.addEventListener("dlo:drawn", (event) => prepare(event.detail));

  // --- Times: the viewer's zone on the page, UTC on hover

  const months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
  const two = (n) => String(n).padStart(2, "0");
  const localTime = (element) => {
    const at = new Date(element.dateTime);
    if (Number.isNaN(at.getTime())) return;
    const year = at.getFullYear() === new Date().getFullYear() ? "" : " " + at.getFullYear();
    element.textContent = at.getDate() + " " + months[at.getMonth()] + year + " " + two(at.getHours()) + ":" + two(at.getMinutes());
  };

  // --- Copying

  const copy = async (button) => {
    const from = button.dataset.copyFrom;
    const text = from ? document.getElementById(from).textContent : button.dataset.copy;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      toast("The browser did not allow copying. Select the text and copy it by hand.");
      return;
    }
    const label = button.querySelector("[data-copy-label], .sr");
    if (label) label.textContent = "Copied";
    button.classList.add("done");
  };

  // --- Selection

  const picks = (scope) => all("input[data-pick]", scope);
  const regionOf = (element) => element.closest(".region") || document;
  let lastPick = null;

  const count = (region) => {
    const bar = region.querySelector("form[data-bulk]");
    if (!bar) return;
    const boxes = picks(region);
    const on = boxes.filter((box) => box.checked).length;
    const matching = bar.querySelector("[data-pick-matching]");
    const everything = Boolean(matching && matching.checked);
    const master = region.querySelector("[data-pick-all]");
    if (master) {
      master.checked = everything || (on > 0 && on === boxes.length);
      master.indeterminate = !everything && on > 0 && on < boxes.length;
    }
    for (const box of boxes) box.closest("[data-row]").classList.toggle("picked", everything || box.checked);
    bar.classList.toggle("active", everything || on > 0);
    bar.querySelector("[data-picked]").textContent = everything
      ? "Every one that matches"
      : on > 0 ? on.toLocaleString("en-US") + " selected" : "Select " + bar.dataset.bulk + " above";
  };

  const selected = (region) => {
    const bar = region.querySelector("form[data-bulk]");
    return bar && bar.classList.contains("active");
  };

  document.addEventListener("change", (event) => {
    const box = event.target;
    const region = regionOf(box);
    if (box.matches("[data-pick-all]")) {
      for (const pick of picks(region)) pick.checked = box.checked;
      const matching = region.querySelector("[data-pick-matching]");
      if (matching && !box.checked) matching.checked = false;
    }
    if (box.matches("[data-pick], [data-pick-all], [data-pick-matching]")) count(region);
  });

  // Shift and a click select everything between.
  document.addEventListener("click", (event) => {
    const box = event.target.closest("input[data-pick]");
    if (!box) return;
    const boxes = picks(regionOf(box));
    const from = boxes.indexOf(lastPick);
    const to = boxes.indexOf(box);
    if (event.shiftKey && from >= 0 && to >= 0) {
      for (const between of boxes.slice(Math.min(from, to), Math.max(from, to) + 1)) between.checked = box.checked;
    }
    lastPick = box;
  });

  // --- Dialogs: the page that confirms an action, drawn over this one

  const open = async (url) => {
    let answer;
    try {
      answer = await fetch(url, { credentials: "same-origin", headers: { "X-Dialog": "1" } });
    } catch {
      toast("The server cannot be reached. Nothing was changed; try again.");
      return;
    }
    const page = answer.ok && !answer.redirected
      ? new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("confirm")
      : null;
    const dialog = theDialog();
    if (!page || !dialog) {
      location.assign(url); // the page itself says what is wrong
      return;
    }
    dialog.querySelector("[data-dialog-body]").replaceChildren(document.adoptNode(page));
    prepare(dialog);
    dialog.showModal();
    const first = dialog.querySelector("[autofocus]") || dialog.querySelector("textarea, select, input:not([type=hidden])");
    if (first) first.focus();
  };

  // The address that the browser would ask for if the button submitted its
  // form by GET: the query of formaction falls away, the button's own field
  // goes along. With all that match chosen, the single boxes say nothing.
  const bulkURL = (button) => {
    const form = button.form;
    const everything = form.querySelector("[data-pick-matching]:checked");
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(form, button)) {
      if (!everything || name !== "id") query.append(name, value);
    }
    return new URL(button.formAction, location.href).pathname + "?" + query;
  };

  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = event.target.closest("a[data-dialog]");
    if (link) {
      event.preventDefault();
      for (const menu of all("details.menu[open]")) menu.open = false;
      open(link.getAttribute("href"));
      return;
    }
    const button = event.target.closest("button[data-dialog]");
    if (button && button.form) {
      event.preventDefault();
      if (!selected(regionOf(button))) {
        toast("Nothing is selected. Tick a box, or press x on a row.");
        return;
      }
      open(bulkURL(button));
    }
  });

  // --- Small things that are pressed

  // A click on the dark round a dialog hits the dialog itself, as one on its
  // padding does: only the place tells them apart.
  const outside = (dialog, event) => {
    const box = dialog.getBoundingClientRect();
    return event.clientX < box.left || event.clientX > box.right || event.clientY < box.top || event.clientY > box.bottom;
  };

  const themes = { "": "dark", dark: "light", light: "" };
  const setTheme = () => {
    const root = document.documentElement;
    const theme = themes[root.dataset.theme || ""];
    if (theme) root.dataset.theme = theme;
    else delete root.dataset.theme;
    try {
      if (theme) localStorage.setItem("theme", theme);
      else localStorage.removeItem("theme");
    } catch {
      // Not remembered, and nothing else is lost.
    }
    nameTheme();
  };
  const nameTheme = () => {
    const theme = document.documentElement.dataset.theme || "system";
    for (const label of all("[data-theme-label]")) label.textContent = "Theme: " + theme;
  };

  document.addEventListener("click", (event) => {
    const target = event.target;
    const copied = target.closest("[data-copy], [data-copy-from]");
    if (copied) copy(copied);
    if (target.closest("[data-theme-toggle]")) setTheme();
    if (target.closest("[data-keys]")) keysDialog().showModal();
    if (target.closest("[data-print]")) print();
    if (target.closest("[data-toast-close]")) target.closest(".notice").remove();
    if (target.matches("dialog[open]") && outside(target, event)) target.close();
    const close = target.closest("[data-dialog-close]");
    if (close && close.closest("dialog")) {
      event.preventDefault();
      close.closest("dialog").close();
    }
    const suggestion = target.closest("[data-suggest] button");
    if (suggestion) {
      const field = document.getElementById(suggestion.parentElement.dataset.suggest);
      field.value = suggestion.textContent;
      field.focus();
    }
    for (const menu of all("details.menu[open]")) if (!menu.contains(target)) menu.open = false;
  });

  // --- Keys

  const rows = () => all("[data-row]").filter(visible);
  const currentRow = () => document.activeElement && document.activeElement.closest("[data-row]");

  const move = (by) => {
    const list = rows();
    if (list.length === 0) return;
    const at = list.indexOf(currentRow());
    const next = list[at < 0 ? (by > 0 ? 0 : list.length - 1) : Math.min(Math.max(at + by, 0), list.length - 1)];
    const link = next.querySelector("[data-open]");
    if (link) link.focus({ preventScroll: true });
    next.scrollIntoView({ block: "nearest" });
  };

  const pick = () => {
    const row = currentRow();
    const box = row && row.querySelector("input[data-pick]");
    if (!box) return;
    box.checked = !box.checked;
    lastPick = box;
    count(regionOf(box));
  };

  // A key presses what carries it: in the current row first (quarantine has
  // its decisions there), else the first on the page. On a list the current
  // row is selected if nothing is.
  const press = (key) => {
    const row = currentRow();
    const own = row && row.querySelector("[data-key='" + key + "']");
    const target = own || all("[data-key='" + key + "']").find((e) => visible(e) || e.closest("details.menu"));
    if (!target) return false;
    if (target.matches("textarea, input, select")) {
      target.focus();
      return true;
    }
    if (target.form && target.form.matches("[data-bulk]") && row && !selected(regionOf(row))) pick();
    target.click();
    return true;
  };

  let going = 0; // when "g" was pressed
  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") {
      for (const menu of all("details.menu[open]")) {
        menu.open = false;
        menu.querySelector("summary").focus();
      }
      if (event.target.matches("#search")) event.target.blur();
      return;
    }
    if (event.target.closest("input:not([type=checkbox]):not([type=radio]), textarea, select, [contenteditable]")) return;
    if (document.querySelector("dialog[open]")) return;

    const key = event.key;
    if (going && Date.now() - going < 1500) {
      going = 0;
      const link = document.querySelector("[data-go='" + CSS.escape(key) + "']");
      if (link) {
        event.preventDefault();
        link.click();
      }
      return;
    }
    going = 0;
    let done = true;
    if (key === "j") move(1);
    else if (key === "k") move(-1);
    else if (key === "x") pick();
    else if (key === "g") going = Date.now();
    else if (key === "?") keysDialog() && keysDialog().showModal();
    else if (key === "/") {
      const search = document.getElementById("search");
      if (search) search.select();
    } else done = /^[a-z]$/.test(key) && press(key);
    if (done) event.preventDefault();
  });

  // --- What a piece of page needs once it is there

  function prepare(root) {
    for (const element of all("time[datetime]:not([data-keep])", root)) localTime(element);
    for (const element of all("[data-copy], [data-copy-from], [data-suggest], [data-script]", root)) element.hidden = false;
    for (const bar of all("form[data-bulk]", root)) count(regionOf(bar));
    if (root.matches && root.matches(".region")) count(root);
  }

  prepare(document);
  nameTheme();
})();
