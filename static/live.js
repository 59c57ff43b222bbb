// What moves by itself: the bar of a redrive that is under way. The server sends
// the regions as they are now; here they are laid over those on the page, element
// by element, so that the style sheet moves what changed, and focus, an open fold
// and typed words stay. Without this a form posts and a link refreshes.
(() => {
  "use strict";

  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const every = 3000; // between two questions where no events come

  // --- Laying one drawing over another

  // What a child is told by among its siblings: its id, or of a form what it
  // does. A button never becomes another one under the finger that presses it.
  const nameOf = (node) => {
    if (node.nodeType !== 1) return "";
    if (node.id) return "#" + node.id;
    if (node.tagName !== "FORM") return "";
    return "form " + node.getAttribute("action") + all("input[type=hidden]:not([name=csrf])", node).map((i) => i.name + "=" + i.value).join("&");
  };

  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && nameOf(a) === nameOf(b) && (a.nodeName !== "DIV" || a.className === b.className);

  const setAttributes = (from, to) => {
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && !(name === "open" && from.tagName === "DETAILS") && !(name === "hidden" && from.dataset.suggest)) from.removeAttribute(name);
    }
    for (const { name, value } of [...to.attributes]) {
      if (name === "hidden" && from.dataset.suggest) continue; // a script showed it
      if (from.getAttribute(name) !== value) from.setAttribute(name, value);
    }
  };

  const lay = (from, to) => {
    if (from.nodeType !== 1) {
      if (from.data !== to.data) from.data = to.data;
      return;
    }
    const zoned = from.tagName === "TIME" && !("keep" in from.dataset) && from.dateTime === to.dateTime; // in the viewer's zone by now
    setAttributes(from, to);
    if (zoned || from.tagName === "TEXTAREA" || from.tagName === "NOSCRIPT") return;
    const old = [...from.childNodes];
    let at = 0;
    for (const next of [...to.childNodes]) {
      let found = -1;
      for (let i = at; i < old.length && found < 0; i++) if (alike(old[i], next)) found = i;
      // Children without a name are matched where they stand, not further on.
      if (found > at && nameOf(next) === "") found = -1;
      if (found < 0) {
        from.insertBefore(next, old[at] || null);
        continue;
      }
      for (; at < found; at++) old[at].remove();
      lay(old[at], next);
      at++;
    }
    for (; at < old.length; at++) old[at].remove();
  };

  // The buttons stay where they are while the pointer is over them, but no longer
  // than a press can be under way: what they say is to be true.
  const hand = 1500;
  let waits = null; // the newest drawing of buttons that must not change yet
  const names = (actions) => all("form", actions).map(nameOf).join("\n");
  const holdButtons = (region, next, mine) => {
    const now = region.querySelector(".prove .foot > .actions:hover");
    const then = next.querySelector(".prove .foot > .actions");
    const held = waits;
    waits = null;
    if (mine || !now || (then && names(now) === names(then))) return;
    waits = { then: then || null };
    if (then) then.replaceWith(now.cloneNode(true));
    else next.querySelector(".prove .foot")?.append(now.cloneNode(true));
    if (held) return; // it is let go of already
    const release = () => {
      now.removeEventListener("pointerleave", release);
      clearTimeout(timer);
      if (!waits || !now.isConnected) return;
      const to = waits.then;
      waits = null;
      if (to) lay(now, to);
      else now.remove();
      settle(region);
    };
    const timer = setTimeout(release, hand);
    now.addEventListener("pointerleave", release);
  };

  const draw = (page, regions, mine) => {
    const focused = document.activeElement;
    for (const id of regions) {
      const from = document.getElementById(id);
      const to = page.getElementById(id);
      if (!from || !to) continue;
      const next = document.adoptNode(to);
      if (from.querySelector(".prove")) holdButtons(from, next, mine);
      lay(from, next);
      document.dispatchEvent(new CustomEvent("dlo:drawn", { detail: from }));
      if (mine) settle(from);
    }
    // The button that was pressed is gone: the question is the next to read.
    if (focused && focused !== document.body && !focused.isConnected) document.querySelector(".prove h2")?.focus({ preventScroll: true });
  };

  // What comes to stand under the finger is not pressed by the same tap.
  const settle = (region) => {
    region.classList.add("settling");
    setTimeout(() => region.classList.remove("settling"), 400);
  };

  const parse = (html) => new DOMParser().parseFromString(html, "text/html");
  const region = () => document.querySelector("[data-regions]");
  const regionsOf = (element) => element.dataset.regions.split(" ");

  // --- Listening

  let events = null;
  let asking = 0;

  const hush = () => {
    if (events) events.close();
    events = null;
    clearTimeout(asking);
    asking = 0;
  };

  const ask = async () => {
    asking = 0;
    const here = region();
    if (!here || !here.dataset.live || document.hidden) return;
    try {
      const answer = await fetch(location.href, { credentials: "same-origin" });
      if (answer.ok && !answer.redirected) draw(parse(await answer.text()), regionsOf(here), false);
    } catch {
      // It asks again.
    }
    if (!events && region()?.dataset.live) asking = setTimeout(ask, every);
  };

  const listen = () => {
    const here = region();
    const url = here && here.dataset.live;
    if (!url || document.hidden) {
      hush();
      return;
    }
    if (asking || (events && events.url === new URL(url, location.href).href)) return;
    hush();
    if (!window.EventSource) {
      asking = setTimeout(ask, every);
      return;
    }
    const mine = new EventSource(url);
    events = mine;
    mine.addEventListener("drawn", (event) => {
      const place = region();
      if (place) draw(parse(JSON.parse(event.data)), regionsOf(place), false);
    });
    mine.addEventListener("end", () => {
      if (events === mine) hush();
    });
    mine.addEventListener("error", () => {
      if (mine.readyState !== EventSource.CLOSED || events !== mine) return; // it tries again by itself
      events = null;
      asking = setTimeout(ask, every); // refused: there are too many, or something stands between
    });
  };

  document.addEventListener("visibilitychange", listen);
  window.addEventListener("pagehide", hush);
  window.addEventListener("pageshow", listen);
  document.addEventListener("htmx:afterSettle", listen);

  // --- Pressing

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    const place = region();
    if (event.defaultPrevented || !place || !place.contains(form) || form.method !== "post") return;
    event.preventDefault();
    if (place.dataset.busy) return;
    place.dataset.busy = "1";
    const body = new URLSearchParams(new FormData(form, event.submitter));
    const whole = () => {
      if (event.submitter && event.submitter.name) {
        const field = document.createElement("input");
        field.type = "hidden";
        field.name = event.submitter.name;
        field.value = event.submitter.value;
        form.append(field);
      }
      form.submit();
    };
    try {
      const answer = await fetch(form.action, { method: "POST", body, credentials: "same-origin" });
      delete place.dataset.busy;
      if (!answer.ok) {
        whole(); // nothing was done, and the page that says so is drawn whole
        return;
      }
      const there = new URL(answer.url);
      const page = parse(await answer.text());
      if (there.pathname !== location.pathname || !regionsOf(place).every((id) => page.getElementById(id))) {
        location.assign(answer.url);
        return;
      }
      draw(page, regionsOf(place), true);
      const flash = page.querySelector(".flash");
      const toast = document.getElementById("toast");
      if (flash && toast) toast.replaceChildren(document.adoptNode(flash));
      listen();
    } catch {
      delete place.dataset.busy;
      const toast = document.getElementById("toast");
      if (toast) {
        const line = document.createElement("div");
        line.className = "notice bad";
        line.textContent = "The server cannot be reached. Whether it took this is not known; reload to see.";
        toast.replaceChildren(line);
      }
    }
  });

  listen();
})();
