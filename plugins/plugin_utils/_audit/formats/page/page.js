// SPDX-License-Identifier: GPL-3.0-or-later
// What the page does beyond being read: filters, copying, light and dark, saving its document.
"use strict";
(() => {
  const one = (selector) => document.querySelector(selector);
  const all = (selector) => Array.from(document.querySelectorAll(selector));
  const form = one("#filters"), items = all("#list li"), groups = all("#list .group, #list .event, #list h4, #list .rows"), shown = one("#shown");
  const words = new Map();

  const event = (item) => item.closest(".event"), who = (item) => item.firstElementChild.textContent;

  const text = (item) => {
    if (!words.has(item)) words.set(item, `${event(item).firstElementChild.textContent} ${item.textContent}`.toLowerCase());
    return words.get(item);
  };

  const wanted = () => {
    const data = new FormData(form);
    return {
      severities: data.getAll("severity"), account: data.get("account"), class: data.get("class"), cause: data.get("cause"),
      text: data.get("text").trim().toLowerCase(), fresh: data.has("new"), waived: data.has("waived"),
    };
  };

  const fits = (item, wish) => {
    const data = item.dataset;
    return wish.severities.includes(item.closest(".group").dataset.severity) && (wish.waived || !("waived" in data)) && (!wish.fresh || "new" in data)
      && (!wish.account || who(item) === wish.account)
      && ["class", "cause"].every((name) => !wish[name] || data[name] === wish[name])
      && (!wish.text || text(item).includes(wish.text));
  };

  const filter = () => {
    const wish = wanted();
    let number = 0;
    for (const item of items) {
      const fit = fits(item, wish);
      if (item.hidden === fit) item.hidden = !fit;
      number += fit;
    }
    for (const group of groups) {
      const rows = group.matches("h4") ? group.nextElementSibling : group;
      const left = rows.querySelectorAll("li:not([hidden])").length, many = group.matches(".event") ? null : group.querySelector(".many");
      group.hidden = !left;
      if (many && !group.matches(".rows")) many.textContent = left.toLocaleString("en");
    }
    const total = items.length.toLocaleString("en");
    shown.textContent = items.length ? `${number.toLocaleString("en")} of ${total} findings shown` : "";
  };

  const go = (item) => {
    if (item.hidden) {
      form.reset();
      form.elements.waived.checked = "waived" in item.dataset;
      filter();
    }
    const details = event(item);
    details.open = true;
    details.querySelector("summary").focus({preventScroll: true});
    item.scrollIntoView({block: "start"});
  };

  const arrive = () => {
    const item = document.getElementById(location.hash.slice(1));
    if (item && item.matches("#list li")) go(item);
  };

  const copy = async (button) => {
    const code = button.previousElementSibling;
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code);
      button.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  };

  const open = (state) => { for (const each of all("#list .event:not([hidden])")) each.open = state; };

  const dark = matchMedia("(prefers-color-scheme: dark)"), theme = one("#theme");
  const isDark = () => (document.documentElement.dataset.theme || (dark.matches ? "dark" : "light")) === "dark";
  const label = () => { theme.textContent = isDark() ? "Light" : "Dark"; };

  theme.addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    label();
  });
  dark.addEventListener("change", label);

  const unpack = async () => {
    const packed = Uint8Array.from(atob(one("#document").textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  };

  one("#save").addEventListener("click", async () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([await unpack()], {type: "application/json"}));
    link.download = "audit.json";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });

  one("#expand").addEventListener("click", (event) => {
    const state = event.target.textContent === "Open all";
    open(state);
    event.target.textContent = state ? "Close all" : "Open all";
  });

  let later = 0;
  form.addEventListener("input", () => {
    cancelAnimationFrame(later);
    later = requestAnimationFrame(filter);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(filter));
  document.addEventListener("click", (event) => {
    const button = event.target.closest(".copy"), link = event.target.closest(".matrix a");
    if (button) copy(button);
    if (link && link.hash === location.hash) arrive();
  });
  addEventListener("hashchange", arrive);

  form.hidden = !items.length;
  label();
  filter();
  arrive();
})();
