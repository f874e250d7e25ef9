// The search at the top of the page, which shows the defects that it finds; and filters, which act on
// what it finds and on the table of defects alike. What is chosen stands in the address, so a link
// can be shared. Without scripts there is no form, every defect is listed, and a title opens it.
(() => {
  const section = document.getElementById("defects");
  const rows = section ? [...section.querySelectorAll("tr.defect")] : [];
  if (!rows.length || section.dataset.quiet) return; // a candidate's page is about the candidate
  const MOST = 12;
  const {newest} = section.dataset, signs = JSON.parse(section.dataset.signs), seen = JSON.parse(section.dataset.seen), safest = JSON.parse(section.dataset.safest);
  const harms = new Set(["silent", "warned", "error", "interface", "cosmetic"]);
  const idle = new Set(("a about an and any are avoid avoids be bug bugs call calls can defect defects did do does for from fix " +
    "fixed have how i in is it may me mend mended model my new of or release right safe say see ship show shows that the there this to " +
    "upgrade use what when which who why with write writes wrong you").split(" "));
  const make = (tag, words = "", name = "") =>
    Object.assign(document.createElement(tag), {textContent: words, className: name});
  const values = (row, name) => name === "release" ? [...tones.get(row)].filter(([, tone]) => harms.has(tone)).map(([of]) => of)
    : (row.dataset[name] || "").split("|").filter(Boolean);
  const plain = (words) => " " + words.toLowerCase().replace(/[^\w.#=*]+/g, " ") + " ";
  const more = (row) => row.nextElementSibling;
  const tones = new Map(rows.map((row) => [row, new Map(row.dataset.tones.split("|").map((each) => each.split("=")))]));
  const texts = new Map(rows.map((row) =>
    [row, [row.querySelector("th a").textContent, row.dataset.words, more(row).textContent].map(plain)]));
  const releases = [...tones.get(rows[0]).keys()];
  const states = new Map(rows.map((row) => [row, row.querySelector(".state").textContent]));
  const headings = new Map([...section.querySelectorAll(".heading")].map((each) => [each, each.textContent]));

  const form = make("form", "", "filters"), found = make("div", "", "found");
  form.setAttribute("role", "search");
  found.setAttribute("role", "region");
  found.setAttribute("aria-label", "Found defects");
  function labelled(words, control, name) {
    const label = form.appendChild(make("label", words + " "));
    return label.appendChild(Object.assign(control, {name}));
  }
  const search = labelled("Search defects", make("input"), "find");
  Object.assign(search, {type: "search", placeholder: "e.g. KV cache, None, partitioner, #4079, new in " + newest});
  const told = form.appendChild(make("output"));
  const clear = form.appendChild(Object.assign(make("button"), {type: "button"}));
  // A phone has no room for all selects: one button opens them there.
  const every = form.appendChild(Object.assign(make("button", "", "every"), {type: "button"}));
  const openAll = (open) => {
    form.classList.toggle("all", open);
    every.setAttribute("aria-expanded", open);
    every.textContent = open ? "fewer filters" : "more filters";
  };
  openAll(false);
  const labels = {release: "in my release", call: "call", model: "model", change: "changed", reach: "found in", harm: "harm"};
  const selects = Object.entries(labels).map(([name, words]) => {
    const select = labelled(words, make("select"), name);
    select.add(new Option("any", ""));
    const offered = [...new Set(rows.flatMap((row) => values(row, name)))];
    const byAge = (a, b) => b.localeCompare(a, "en", {numeric: true});
    if (name === "release") offered.sort(byAge);
    if (name === "change") offered.sort((a, b) => byAge(a.split(" ").pop(), b.split(" ").pop()) || byAge(a, b));
    for (const value of offered) select.add(new Option(name === "harm" ? seen[value] : value, value));
    return select;
  });
  section.before(form, found);
  // The search is at the top of the screen when it has found something, and its answers below it.
  const toSearch = () => scrollTo(0, scrollY + found.getBoundingClientRect().top - form.offsetHeight - gap);
  const gap = parseFloat(getComputedStyle(form).marginBottom);

  // What is asked for: a release and what it changed may be chosen, or stand among the words.
  function asked() {
    const ask = Object.fromEntries(selects.map((select) => [select.name, select.value]));
    const words = search.value.toLowerCase().replace(/['’]s\b/g, "").split(/[^\w.#=*]+/).map((word) => word.replace(/\.+$/, "")).filter(Boolean);
    const change = words.some((word) => word === "new") ? "new" : words.some((word) => /^(mend|fix)/.test(word)) && "fixed";
    const named = words.map((word) => releases.find((release) => release === word || release === word + ".0")).find(Boolean);
    if (named && change) ask.change = `${change} in ${named}`;
    else if (named) ask.release = named;
    // A name that no title has is read by its parts: use_fast_partitioner.
    ask.words = words.filter((word) => !idle.has(word) && !releases.includes(word) && !releases.includes(word + ".0"))
      .map((word) => /^\d{3,}$/.test(word) ? "#" + word : word)
      .flatMap((word) => !word.includes("_") || rows.some((row) => fit(row, word) > 1) ? [word] : word.split("_"))
      .filter((word) => word && !idle.has(word));
    ask.unknown = words.find((word) => /^\d+\.\d+(\.\d+)?$/.test(word) && !releases.includes(word) && !releases.includes(word + ".0"));
    ask.number = ask.words.find((word) => word.startsWith("#"));
    return ask;
  }
  const harmIn = (row, release) => release ? tones.get(row).get(release) : row.dataset.harm;
  const chosen = (row, ask) => ["call", "model", "change", "reach"].every((name) => !ask[name] || values(row, name).includes(ask[name]))
    && (!ask.harm || harmIn(row, ask.release) === ask.harm);
  const worse = ({row}) => [...harms, ""].indexOf(row.dataset.harm);
  const unseen = ({row, shown}, ask) => shown ? 0 : [...UNSEEN.keys()].indexOf(harmIn(row, ask.release)) + 1;
  // What is asked for worst first, unless its words are met far better elsewhere.
  const near = (match, best) => match.sum >= best * 0.75;
  // Why a defect is not to be seen in a release: the release is free of it, or nobody could see it.
  const UNSEEN = new Map([["ok", "Not there in"], ["hidden", "Cannot be seen in"], ["none", "Not asked in"]]);
  const shows = (row, ask) => !ask.release || harms.has(harmIn(row, ask.release));
  // How well a row fits a word: a pull request that fixed or brought it, its title, the earlier there the
  // better, a user's words, all else.
  function fit(row, word) {
    if (word.startsWith("#")) {
      if (row.dataset.fixed === word) return 9;
      if (row.dataset.brought === word) return 6;
    }
    const stem = " " + (word.length > 3 ? word.replace(/s$/, "") : word);
    const title = texts.get(row)[0], where = texts.get(row).findIndex((each) => each.includes(stem));
    // kvcache is a KV cache.
    if (where < 0) return word.length > 5 && title.replaceAll(" ", "").includes(word) ? 4 : 0;
    return where ? [4, 1][where - 1] : 8 - title.indexOf(stem) / 1000;
  }
  // The rows that have every word, or else the most of them, or what is asked for by its number; those
  // that the release shows come first. A word counts for more the fewer rows have it.
  function matching(ask) {
    const words = ask.number ? [ask.number] : ask.words;
    const rare = words.map((word) => Math.log(1 + rows.length / rows.filter((row) => fit(row, word)).length));
    const all = rows.filter((row) => chosen(row, ask)).map((row, at) => {
      const fits = words.map((word) => fit(row, word));
      return {row, at, shown: shows(row, ask), having: fits.filter(Boolean).length,
        sum: fits.reduce((sum, each, word) => sum + (each && each * rare[word]), 0)};
    });
    // What only mentions the words in passing is left out, where a title or its words have them; the more
    // words are asked for, the closer to the best a row has to come.
    const most = Math.max(0, ...all.map((each) => each.having)), best = Math.max(0, ...all.map((each) => each.sum));
    const least = best * Math.max(1 / 2, 1 - 3 / 4 / words.length);
    return all.filter((each) => each.having === most && (most || !words.length) && (ask.number || each.sum >= least))
      .sort((a, b) => (!ask.number && b.shown - a.shown) || unseen(a, ask) - unseen(b, ask)
        || (!ask.number && near(b, best) - near(a, best) || worse(a) - worse(b)) || b.sum - a.sum || a.at - b.at);
  }
  function heading({row, shown}, ask) {
    const {fixed, brought} = row.dataset;
    const changed = (how) => values(row, "change").filter((each) => each.startsWith(how))
      .map((each) => each.replace(how, "").trim() + " ").join("");
    if (ask.number && fixed === ask.number) return `Fixed ${changed("fixed")}by ${ask.number}`;
    if (ask.number && brought === ask.number) return `New ${changed("new")}and brought by ${ask.number}`;
    if (ask.number) return `See also ${ask.number}`;
    if (ask.change && !ask.release) return ask.change[0].toUpperCase() + ask.change.slice(1);
    return ask.release && `${shown ? "In" : UNSEEN.get(harmIn(row, ask.release))} ${ask.release}`;
  }
  function card(row, ask) {
    const item = make("li"), brief = more(row).querySelector(".brief").cloneNode(true);
    item.append(row.querySelector("th a").cloneNode(true));
    if (ask.release) {
      const tone = harmIn(row, ask.release);
      item.append(make("strong", `${ask.release}: ${signs[tone]} ${seen[tone]}`, "tag t-" + tone));
      for (const each of brief.querySelectorAll("[data-of]"))
        each.classList.toggle("mine", each.dataset.of.split("|").includes(ask.release));
    }
    // What is not to be seen in the release that is asked for is told by its title and releases.
    if (ask.release && !shows(row, ask)) brief.replaceChildren(brief.querySelector("ul"));
    item.append(brief);
    return item;
  }
  // What a release changed is read as a list first: a line each, and then the cards.
  function titles(matches) {
    const lines = make("ol", "", "titles");
    for (const {row} of matches) {
      const line = lines.appendChild(make("li")), harm = row.dataset.harm;
      line.append(make("span", `${signs[harm]} ${seen[harm]}`, "tag t-" + harm), " ");
      line.append(row.querySelector("th a").cloneNode(true));
    }
    return lines;
  }
  function list(matches, ask) {
    found.replaceChildren();
    const groups = new Map();
    for (const match of matches) {
      const words = heading(match, ask);
      groups.set(words, [...(groups.get(words) || []), match]);
    }
    let left = MOST;
    for (const [words, here] of groups) {
      if (words) found.append(make("p", `${words}: ${here.length}`, "under"));
      if (ask.change) found.append(titles(here));
      const items = left ? found.appendChild(make("ul")) : found;
      for (const match of here.slice(0, left)) items.append(card(match.row, ask));
      if (here.length > left) found.append(make("p", `and ${here.length - left} more`, "muted"));
      left = Math.max(0, left - here.length);
    }
    if (ask.unknown) found.prepend(make("p", `${ask.unknown} was not asked: this page has ${releases[0]} to ${releases[releases.length - 1]}.`));
    else if (!matches.length) found.append(make("p", "No known defect is named so. Fewer words find more."));
    // Who asks of a release, or of what no defect is named after, wants a call that is right.
    const safe = ask.unknown ? [] : safest[ask.release || (matches.length ? "" : newest)] || [];
    found.prepend(...safe.map((told) => make("p", told)));
  }
  function apply() {
    if (location.hash.startsWith("#defects?")) {
      const given = new URLSearchParams(location.hash.split("?")[1]);
      for (const control of [search, ...selects])
        if (control !== document.activeElement) control.value = given.get(control.name) || "";
    }
    const ask = asked(), asking = [search, ...selects].some((control) => control.value);
    const matches = asking ? matching(ask) : rows.map((row) => ({row, shown: true}));
    const left = new Set(matches.filter(({shown}) => shown).map(({row}) => row));
    for (const row of rows) {
      row.hidden = more(row).hidden = !left.has(row);
      const harm = harmIn(row, ask.release);
      row.querySelector(".state").textContent =
        ask.release && !row.hidden ? `${signs[harm]} ${seen[harm]} in ${ask.release}` : states.get(row);
    }
    for (const [each, words] of headings)
      each.textContent = ask.release && ask.release !== newest
        ? `In ${ask.release}, and ${words[0].toLowerCase()}${words.slice(1)}` : words;
    for (const part of section.querySelectorAll(".part")) {
      const count = part.querySelectorAll("tr.defect:not([hidden])").length;
      for (const each of part.querySelectorAll(".count")) each.textContent = count;
      part.hidden = !count;
      if (asking && part.open === false) part.open = true;
    }
    const unseenThere = matches.length - left.size;
    told.textContent = `${left.size} of ${rows.length} defects` + (unseenThere ? `; ${unseenThere} not seen there` : "");
    // A phone shows one select until all are opened, so what is chosen is told here as well.
    const chosenHere = selects.map((control) => control.value).filter(Boolean).map((value) => value + ", ");
    clear.replaceChildren(make("span", chosenHere.join(""), "chosen"), "clear ×");
    clear.hidden = !asking;
    if (asking) list(matches, ask);
    else found.replaceChildren();
    const target = location.hash.startsWith("#defect-") && document.getElementById(location.hash.slice(1));
    if (target && target.closest("details.part")) target.closest("details.part").open = true;
  }
  function choose() {
    const given = [search, ...selects].filter((control) => control.value);
    const query = new URLSearchParams(given.map((control) => [control.name, control.value]));
    history.replaceState(null, "", "#defects" + (given.length ? "?" + query : ""));
    apply();
    toSearch();
  }
  document.querySelector("nav .to-search")?.addEventListener("click", (event) => {
    event.preventDefault();
    toSearch();
    search.focus({preventScroll: true});
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  search.addEventListener("input", choose);
  for (const select of selects) select.addEventListener("change", choose);
  every.addEventListener("click", () => openAll(!form.classList.contains("all")));
  clear.addEventListener("click", () => {
    for (const control of [search, ...selects]) control.value = "";
    choose();
  });
  // A title opens its defect where it stands, and closes it: below its row, or in what was found.
  section.addEventListener("click", (event) => {
    const link = event.target.closest("tr.defect th a, .close a");
    if (!link) return;
    event.preventDefault();
    const own = link.closest("tr"), row = own.matches(".more") ? own.previousElementSibling : own;
    const top = row.getBoundingClientRect().top;
    location.hash = row === own && link.hash !== location.hash ? link.hash : "#defects";
    const under = form.offsetHeight + (row.closest("table").tHead.offsetHeight || 0);
    scrollBy({top: row.getBoundingClientRect().top - Math.max(top, under), behavior: "instant"});
  });
  found.addEventListener("click", (event) => {
    const link = event.target.closest("li > a[href^='#defect-'], .close a"), card = event.target.closest(".found > ul > li");
    if (!link || !card || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const opened = card.querySelector(".opened"), title = card.querySelector("a");
    if (opened) {
      opened.remove();
      title.scrollIntoView({block: "nearest"});
    } else {
      const whole = make("div", "", "opened");
      whole.append(...more(document.querySelector(`tr.defect th a[href="${title.hash}"]`).closest("tr"))
        .firstElementChild.cloneNode(true).children);
      if (card.querySelector(".brief")) whole.querySelector(".brief").remove();
      card.append(whole);
    }
  });
  function follow() {
    apply();
    if (location.hash.startsWith("#defects?")) toSearch();
  }
  addEventListener("hashchange", follow);
  follow();
})();
