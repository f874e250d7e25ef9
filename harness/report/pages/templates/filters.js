// A search and filters over the table of defects, and a second click on a title that closes what
// the first opened. What is chosen stands in the address, so a link can be shared; without scripts
// there is no form, every defect is listed, and a title opens its defect.
(() => {
  const section = document.getElementById("defects");
  const rows = section ? [...section.querySelectorAll("tr.defect")] : [];
  if (!rows.length) return;
  const signs = JSON.parse(section.dataset.signs);
  const values = (row, name) => (row.dataset[name] || "").split("|").filter(Boolean);
  const form = document.createElement("form");
  form.className = "filters";
  function labelled(words, control, name) {
    const label = form.appendChild(document.createElement("label"));
    label.append(words + " ");
    control.name = name;
    return label.appendChild(control);
  }
  const search = labelled("find", document.createElement("input"), "find");
  search.type = "search";
  search.placeholder = "cache, None, #4079 …";
  const labels = {release: "my release", call: "my call", model: "my model", change: "changed", harm: "harm"};
  const selects = Object.entries(labels).map(([name, words]) => {
    const select = labelled(words, document.createElement("select"), name);
    select.add(new Option("any", ""));
    const found = [...new Set(rows.flatMap((row) => values(row, name)))];
    const newest = (a, b) => b.localeCompare(a, "en", {numeric: true});
    if (name === "release") found.sort(newest);
    if (name === "change") found.sort((a, b) => newest(a.split(" ").pop(), b.split(" ").pop()) || newest(a, b));
    for (const value of found) select.add(new Option(value, value));
    return select;
  });
  const controls = [search, ...selects];
  const told = form.appendChild(document.createElement("output"));
  section.querySelector("h2").after(form);
  const states = new Map(rows.map((row) => [row, row.querySelector(".phone .state").textContent]));
  const sought = new Map(rows.map((row) =>
    [row, (row.querySelector("th a").textContent + " " + row.dataset.words).toLowerCase()]));

  // What a defect does in the chosen release; in the newest that has it, where none is chosen.
  function harmIn(row, release) {
    const found = values(row, "harms").find((each) => each.startsWith(release + "="));
    return release && found ? found.split("=")[1] : row.dataset.harm;
  }
  function fits(row, chosen, words) {
    const release = selects[0].value;
    return words.every((word) => sought.get(row).includes(word)) && chosen.every((select) =>
      select.name === "harm" ? harmIn(row, release) === select.value
        : values(row, select.name).includes(select.value));
  }
  function apply() {
    const asked = new URLSearchParams(location.hash.split("?")[1] || "");
    if (location.hash.startsWith("#defects?"))
      for (const control of controls)
        if (control !== document.activeElement) control.value = asked.get(control.name) || "";
    const chosen = selects.filter((select) => select.value);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    const release = selects[0].value;
    let shown = 0;
    for (const row of rows) {
      row.hidden = !fits(row, chosen, words);
      row.nextElementSibling.hidden = row.hidden;
      shown += !row.hidden;
      const harm = harmIn(row, release);
      row.querySelector(".phone .state").textContent =
        release && !row.hidden ? `${signs[harm]} ${harm} in ${release}` : states.get(row);
    }
    for (const part of section.querySelectorAll(".part")) {
      const count = part.querySelectorAll("tr.defect:not([hidden])").length;
      for (const each of part.querySelectorAll(".count")) each.textContent = count;
      part.hidden = !count;
      if ((chosen.length || words.length) && part.open === false) part.open = true;
    }
    told.textContent = shown + " of " + rows.length + " defects";
    const target = location.hash.startsWith("#defect-") && document.getElementById(location.hash.slice(1));
    if (target && target.closest("details.part")) target.closest("details.part").open = true;
  }
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    const chosen = controls.filter((control) => control.value);
    const query = new URLSearchParams(chosen.map((control) => [control.name, control.value]));
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
  function follow() {
    apply();
    if (location.hash.startsWith("#defects?")) section.scrollIntoView();
  }
  addEventListener("hashchange", follow);
  follow();
})();
