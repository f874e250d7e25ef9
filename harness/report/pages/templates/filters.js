// Filters over the table of defects, and a second click on a title that closes what the first
// opened. What is chosen stands in the address, so a link can be shared; without scripts there are
// no filters, every defect is listed, and a title opens its defect.
(() => {
  const section = document.getElementById("defects");
  const rows = section ? [...section.querySelectorAll("tr.defect")] : [];
  if (!rows.length) return;
  const form = document.createElement("form");
  form.className = "filters";
  const labels = {release: "my release", call: "my call", structure: "my model has", harm: "harm", reach: "split by"};
  const values = (row, name) => (row.dataset[name] || "").split("|").filter(Boolean);
  const selects = Object.entries(labels).map(([name, words]) => {
    const label = form.appendChild(document.createElement("label"));
    label.append(words + " ");
    const select = label.appendChild(document.createElement("select"));
    select.name = name;
    select.add(new Option("any", ""));
    const found = [...new Set(rows.flatMap((row) => values(row, name)))];
    if (name === "release") found.sort((a, b) => b.localeCompare(a, "en", {numeric: true}));
    for (const value of found) select.add(new Option(value, value));
    return select;
  });
  const told = form.appendChild(document.createElement("output"));
  section.querySelector("h2").after(form);

  function apply() {
    const asked = new URLSearchParams(location.hash.split("?")[1] || "");
    if (location.hash.startsWith("#defects?"))
      for (const select of selects) select.value = asked.get(select.name) || "";
    const chosen = selects.filter((select) => select.value);
    let shown = 0;
    for (const row of rows) {
      row.hidden = chosen.some((select) => !values(row, select.name).includes(select.value));
      row.nextElementSibling.hidden = row.hidden;
      shown += !row.hidden;
    }
    for (const part of section.querySelectorAll(".part")) {
      part.hidden = !part.querySelector("tr.defect:not([hidden])");
      if (chosen.length && part.open === false) part.open = true;
    }
    told.textContent = shown + " of " + rows.length + " defects";
    const target = location.hash.startsWith("#defect-") && document.getElementById(location.hash.slice(1));
    if (target && target.closest("details.part")) target.closest("details.part").open = true;
  }
  form.addEventListener("change", () => {
    const chosen = selects.filter((select) => select.value);
    const query = new URLSearchParams(chosen.map((select) => [select.name, select.value]));
    history.replaceState(null, "", "#defects" + (chosen.length ? "?" + query : ""));
    apply();
  });
  section.addEventListener("click", (event) => {
    const link = event.target.closest("tr.defect th a");
    if (link && link.hash === location.hash) {
      event.preventDefault();
      location.hash = "#defects";
    }
  });
  addEventListener("hashchange", apply);
  apply();
})();
