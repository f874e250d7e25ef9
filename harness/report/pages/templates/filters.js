// Filters over the failing cells. What is chosen stands in the address, so a link can be shared;
// without scripts there are no filters, and every cell is listed.
(() => {
  const section = document.getElementById("failing");
  const rows = [...section.querySelectorAll("tbody tr")].map((row) => ({
    row,
    release: row.closest("details").dataset.release.split(", "),  // those that fail alike
    family: [row.closest(".fails").dataset.family],
    route: [row.cells[1].textContent],
    verdict: [row.cells[2].textContent],
  }));
  if (!rows.length) return;
  const form = document.createElement("form");
  form.className = "filters";
  const selects = ["release", "family", "route", "verdict"].map((name) => {
    const label = form.appendChild(document.createElement("label"));
    label.append(name + " ");
    const select = label.appendChild(document.createElement("select"));
    select.name = name;
    select.add(new Option("all", ""));
    for (const value of new Set(rows.flatMap((each) => each[name])))
      select.add(new Option(value, value));
    return select;
  });
  const more = section.dataset.elsewhere ? "; " + section.dataset.elsewhere : "";
  const told = form.appendChild(document.createElement("output"));
  section.querySelector("h2").after(form);

  function apply() {
    const asked = new URLSearchParams(location.hash.split("?")[1] || "");
    for (const select of selects) select.value = asked.get(select.name) || "";
    const chosen = selects.filter((select) => select.value);
    let shown = 0;
    for (const each of rows) {
      each.row.hidden = chosen.some((select) => !each[select.name].includes(select.value));
      shown += !each.row.hidden;
    }
    for (const part of section.querySelectorAll(".fails, details"))
      part.hidden = !part.querySelector("tbody tr:not([hidden])");
    if (chosen.length)
      for (const part of section.querySelectorAll("details:not([hidden])")) part.open = true;
    told.textContent = shown + " of " + rows.length + " rows" + more;
  }
  form.addEventListener("change", () => {
    const chosen = selects.filter((select) => select.value);
    const query = new URLSearchParams(chosen.map((select) => [select.name, select.value]));
    history.replaceState(null, "", "#failing" + (chosen.length ? "?" + query : ""));
    apply();
  });
  addEventListener("hashchange", apply);
  apply();
  if (location.hash.startsWith("#failing?")) section.scrollIntoView();
})();
