"use strict";
// The filter of the list of claims, and what a fold has to do for links and for paper.

function filtered(form) {
  const rows = [...document.querySelectorAll("#claims tbody tr")];
  const texts = rows.map(row => row.textContent.toLowerCase());
  const said = form.querySelector("output");
  const fields = [...form.querySelectorAll("select")].map(each => each.name);

  function apply() {
    const words = form.elements.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    rows.forEach((row, n) => {
      const fits = words.every(word => texts[n].includes(word))
        && fields.every(name => !form.elements[name].value || form.elements[name].value === row.dataset[name]);
      row.hidden = !fits;
      shown += fits;
    });
    said.textContent = `${shown} of ${rows.length} claims`;
  }

  const asked = new URLSearchParams(location.search);
  for (const name of ["q", ...fields]) form.elements[name].value = asked.get(name) ?? "";
  form.addEventListener("input", apply);
  form.addEventListener("submit", event => event.preventDefault());
  form.hidden = false;
  apply();
}

function unfold() {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target instanceof HTMLDetailsElement) {
    target.open = true;
    target.scrollIntoView();
  }
}

const form = document.querySelector("form.filter");
if (form) filtered(form);
unfold();
addEventListener("hashchange", unfold);
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach(each => { each.open = true; }));
