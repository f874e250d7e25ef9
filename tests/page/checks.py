"""What is asked of a page in a real browser: each check returns the faults that it saw, as lines.

So each can be held against a page with a planted fault, and is seen to tell it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from harness.wire.oracles import Harm

if TYPE_CHECKING:  # it comes with the session `page` alone
    from playwright.sync_api import Browser, Page

DESK, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
FILTERS = ("release", "call", "model", "change", "reach", "harm")

UNFOLD = """
() => {
  for (const each of document.querySelectorAll("details")) each.open = true;
}
"""
BROKEN_LINKS = """
() => [...document.querySelectorAll("a")]
  .map((each) => each.getAttribute("href"))
  .filter((to) => !to || !to.startsWith("https://github.com/"))
  .filter((to) => !to || !to.startsWith("#") || !document.getElementById(to.slice(1).split("?")[0]))
  .map((to) => `a link leads to ${to}, which is not there`)
"""
CLOSED_DEFECTS = """
() => {
  const faults = [];
  const rows = document.querySelectorAll("#defects tr.defect");
  if (!rows.length) faults.push("the table has no defect");
  for (const row of rows) {
    const link = row.querySelector("th a"), folded = row.closest("details");
    if (folded) folded.open = true;
    link.click();
    const more = document.getElementById(location.hash.slice(1));
    if (more !== row.nextElementSibling || !more.checkVisibility())
      faults.push(`its title opens nothing: ${link.textContent}`);
  }
  return faults;
}
"""
UNSEEN_TITLES = """
() => {
  const faults = [], bar = document.querySelector("form.filters");
  for (const row of document.querySelectorAll("#defects tr.defect")) {
    const link = row.querySelector("th a"), folded = row.closest("details");
    const top = () => row.getBoundingClientRect().top;
    const head = row.closest("table").tHead;
    const say = (words) => faults.push(`${words}: ${link.textContent}`);
    if (folded) folded.open = true;
    row.scrollIntoView();
    scrollBy(0, -300);
    const before = top();
    link.click();
    if (Math.abs(top() - before) > 2) say(`goes from ${before} to ${top()}`);
    scrollBy(0, top() + 100);
    row.nextElementSibling.querySelector(".close a").click();
    if (top() < bar.offsetHeight + head.offsetHeight - 1) say(`is at ${top()}`);
    link.click();
    link.click();
    if (row.nextElementSibling.checkVisibility()) say("stays open");
  }
  return faults;
}
"""
OPENED_CARD = """
() => {
  const card = document.querySelector(".found > ul > li"), title = card.querySelector("a");
  const before = [title.getBoundingClientRect().top, location.hash].join();
  title.click();
  const why = card.querySelector(".opened .known-as");
  const after = [title.getBoundingClientRect().top, location.hash].join();
  title.click();
  return why && before === after && !card.querySelector(".opened")
    ? [] : [`a title opens nothing where it stands: ${before}, ${after}`];
}
"""
ROWS = """
() => [...document.querySelectorAll("#defects tr.defect")].map((row) => ({
  ...Object.fromEntries(["tones", "call", "model", "change", "reach", "harm"].map(
    (name) => [name, row.dataset[name].split("|").filter(Boolean)])),
  seen: row.checkVisibility(),
}))
"""
TOLD = """
() => ({
  told: document.querySelector("form.filters output").textContent,
  chosen: Object.fromEntries(
    [...document.querySelectorAll("form.filters select, form.filters input")]
      .map((each) => [each.name, each.value])
  ),
  counts: [...document.querySelectorAll("#defects .part:not([hidden]) table .count")]
    .reduce((sum, each) => sum + Number(each.textContent), 0),
})
"""
LISTED = """title => {
  const lines = [...document.querySelectorAll(".found .titles li")];
  const line = lines.find(each => each.querySelector("a").textContent === title);
  return line ? line.getBoundingClientRect().toJSON() : null;
}"""

CARDS = """
() => [...document.querySelectorAll(".found > *")].flatMap((part) => part.tagName === "UL"
  ? [...part.children].map((card) => ({
      title: card.querySelector("a").textContent,
      says: card.textContent.replace(/\\s+/g, " "),
      under: [...document.querySelectorAll(".found > .under")]
        .filter((each) => each.compareDocumentPosition(part) & Node.DOCUMENT_POSITION_FOLLOWING)
        .pop()?.textContent || "",
      top: card.getBoundingClientRect().top,
      bottom: card.getBoundingClientRect().bottom,
    }))
  : [])
"""
WIDER = """
() => {
  const { scrollWidth, clientWidth } = document.documentElement;
  return scrollWidth > clientWidth ? [`${scrollWidth} pixels wide in ${clientWidth}`] : [];
}
"""
UNREADABLE = """
() => {
  const faults = [];
  if (document.querySelector("form")) faults.push("a form that does nothing");
  const folded = [...document.querySelectorAll("details")].map((each) => [each, each.open]);
  for (const [each] of folded) each.open = true;
  const all = "tr:not(.more), section, h1, h2, h3, section > p, header p";
  for (const each of document.querySelectorAll(all))
    if (!each.checkVisibility()) faults.push(`not to be seen: ${each.textContent.slice(0, 60)}`);
  for (const [each, open] of folded) each.open = open;
  return faults;
}
"""
UNPRINTED = """
() => [...document.querySelectorAll("details:not(.script)")]
  .filter((each) => getComputedStyle(each, "::details-content").contentVisibility !== "visible")
  .map((each) => `folded away on paper: ${each.querySelector("summary").textContent}`)
"""


@dataclass
class Visit:
    """A page that was opened; ``complaints`` and ``requests`` grow as it is used."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def visit(browser: Browser, file: Path, address: str = "", **how: Any) -> Iterator[Visit]:
    """Open a file as a person would; ``how`` goes to the browser's context."""
    here = file.resolve().as_uri()
    with browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **how}) as context:
        page = context.new_page()
        opened = Visit(page)
        page.on("console", lambda said: opened.complaints.append(f"{said.type}: {said.text}"))
        page.on("pageerror", lambda error: opened.complaints.append(f"error: {error}"))
        page.on("request", lambda asked: opened.requests.append(asked.url))
        page.goto(here + address)
        opened.requests = [url for url in opened.requests if url.partition("#")[0] != here]
        yield opened


def inaccessible(page: Page) -> list[str]:
    """What axe-core objects to, of all that is not folded away."""
    from axe_playwright_python.sync_playwright import Axe

    page.evaluate(UNFOLD)
    found = Axe().run(page).response["violations"]
    return [
        f"{rule['id']}: {node['failureSummary']}: {node['html'][:120]}"
        for rule in found
        for node in rule["nodes"]
    ]


def broken_links(page: Page) -> list[str]:
    return list(page.evaluate(BROKEN_LINKS))


def closed_defects(page: Page) -> list[str]:
    """Defects whose title does not open what is known of them."""
    return list(page.evaluate(CLOSED_DEFECTS))


def unseen_titles(page: Page) -> list[str]:
    """Defects whose title is not seen when they are opened, or which a second click leaves open."""
    return list(page.evaluate(UNSEEN_TITLES))


def wider_than_the_screen(page: Page) -> list[str]:
    """The body scrolls sideways, with all unfolded; a table inside of it may."""
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true })")
    return list(page.evaluate(WIDER))


def unreadable_without_scripts(page: Page) -> list[str]:
    return list(page.evaluate(UNREADABLE))


def unprinted(page: Page) -> list[str]:
    """What paper would lack; leaves the page as on paper."""
    page.emulate_media(media="print")
    shown = page.locator("form.filters, .top nav").filter(visible=True).count()
    return [*page.evaluate(UNPRINTED), *(["filters or navigation on paper"] if shown else [])]


def wrong_filters(browser: Browser, file: Path) -> list[str]:
    """Each filter alone, then two together: rows, count, address, and the link opened elsewhere."""
    faults = []
    with visit(browser, file) as opened:
        rows = opened.page.evaluate(ROWS)
        choices = [{name: _last(opened.page, name)} for name in FILTERS]
        choices.append({"release": "2.13.0", "harm": "silent"})
        choices.append({"find": "fixed in 2.14.0"})
        for chosen in choices:
            _choose(opened.page, chosen)
            faults += _misfiltered(opened.page, rows, chosen)
            address = opened.page.evaluate("location.hash")
            asked = parse_qs(address.partition("?")[2])
            if asked != {name: [value] for name, value in chosen.items()}:
                faults.append(f"{chosen}: the address says {address}")
            with visit(browser, file, address) as shared:
                faults += [f"shared link: {f}" for f in _misfiltered(shared.page, rows, chosen)]
        _choose(opened.page, {})
        faults += _misfiltered(opened.page, rows, {})
    return faults


@dataclass(frozen=True)
class Asked:
    """What a reader types, and the answer: a heading, a title, and what stands below it."""

    words: str
    title: str
    says: str
    under: str = ""
    among: int = 3  # the first cards
    most: int = 12  # cards at all, so that what only mentions the words does not bury it
    counted: str = ""  # the change by whose rows the heading's number is checked
    listed: bool = False  # in the list of titles above the cards, which answers what changed


QUESTIONS = (
    Asked(
        "does 2.13.0 write KV caches right?",
        "A buffer or KV cache is never updated: every call after the first is wrong",
        "2.13.0: ✗ silently wrong",
        "In 2.13.0: ",
    ),
    Asked(
        "global partitioner",
        "Global partitioner: a saved program returns a list for a tensor, or fails",
        "✓ avoided by save(m, f, retrace=True), compile",
    ),
    Asked(
        "use_fast_partitioner",
        "Global partitioner: a saved program returns a list for a tensor, or fails",
        "✓ avoided by save(m, f, retrace=True), compile",
        among=2,
    ),
    Asked(
        "kvcache in 2.13",
        "A buffer or KV cache is never updated: every call after the first is wrong",
        "2.13.0: ✗ silently wrong",
        "In 2.13.0: ",
    ),
    Asked(
        "what is new in 2.14.0?",
        "State returned as it was before the call comes back as it is after it, silently",
        "new in 2.14.0",
        "New in 2.14.0: ",
        listed=True,
        counted="new in 2.14.0",
    ),
    Asked(
        "#4079",
        "A PyTorch fallback with several outputs cannot be saved (KeyError)",
        "Shows as KeyError: (relu, relu_#). Fixed in 2.11.0 by #4079",
        "Fixed in 2.11.0 by #4079: ",
    ),
    Asked(
        "can I save a model that returns None?",
        "A model that returns None or a number cannot be compiled, so not saved",
        "E raises an error with compile, so no save() was tried here",
        among=1,
        most=3,
    ),
    Asked(
        "None",
        "A model that returns None or a number cannot be compiled, so not saved",
        "E raises an error with compile, so no save() was tried here",
        among=1,
    ),
    Asked(
        "wrong tensor",
        "A PyTorch fallback reads the wrong tensor: wrong numbers, extra inputs, a crash",
        "✓ avoided by save(m, f, retrace=True), compile",
        among=2,
    ),
)


def unanswered(browser: Browser, file: Path, **how: Any) -> list[str]:
    """Questions that are typed and not answered on the first screen, in the first few cards."""
    faults = []
    with visit(browser, file, **how) as opened:
        page, height = opened.page, opened.page.viewport_size["height"]
        for asked in QUESTIONS:
            page.evaluate("scrollTo(0, 3000)")  # wherever the reader is
            page.fill("form.filters input[name=find]", asked.words)
            cards = page.evaluate(CARDS)
            found = [card for card in cards[: asked.among] if card["title"] == asked.title]
            if len(cards) > asked.most:
                faults.append(f"{asked.words}: {len(cards)} cards")
            if not found:
                faults.append(
                    f"{asked.words}: the first are {[each['title'] for each in cards[:3]]}"
                )
            for card in found:
                if asked.counted:
                    rows = page.evaluate(ROWS)
                    count = sum(asked.counted in row["change"] for row in rows)
                    if card["under"] != f"{asked.under}{count}":
                        faults.append(f"{asked.words}: it counts {card['under']} for {count}")
                if asked.says not in card["says"]:
                    faults.append(f"{asked.words}: it says {card['says']}")
                if not card["under"].startswith(asked.under) or (card["under"] and not asked.under):
                    faults.append(f"{asked.words}: it stands under {card['under']}")
                box = page.evaluate(LISTED, asked.title) if asked.listed else card
                if box is None:
                    faults.append(f"{asked.words}: the titles do not name it")
                elif box["top"] < 0 or box["bottom"] > height:
                    faults.append(f"{asked.words}: the answer ends at {box['bottom']:.0f} pixels")
            if found:
                faults += [f"{asked.words}: {fault}" for fault in page.evaluate(OPENED_CARD)]
    return faults


def _choose(page: Page, chosen: dict[str, str]) -> None:
    page.fill("form.filters input[name=find]", chosen.get("find", ""))
    for name in FILTERS:
        page.select_option(f"form.filters select[name={name}]", chosen.get(name, ""))


def _last(page: Page, name: str) -> str:
    """The last value that a filter offers: the first may be that of every row."""
    return str(page.locator(f"select[name={name}] option").last.get_attribute("value"))


def _fits(row: dict[str, Any], chosen: dict[str, str]) -> bool:
    """Whether a row is meant: its harm is that in the chosen release."""
    tones = dict(each.split("=") for each in row["tones"])
    release = chosen.get("release", "")
    for name, value in chosen.items():
        if name == "find":
            fits = value in row["change"]
        elif name == "release":
            fits = tones[value] in list(Harm)
        elif name == "harm" and release:
            fits = tones[release] == value
        else:
            fits = value in row[name]
        if not fits:
            return False
    return True


def _misfiltered(page: Page, rows: list[dict[str, Any]], chosen: dict[str, str]) -> list[str]:
    expected = [_fits(row, chosen) for row in rows]
    now, state = page.evaluate(ROWS), page.evaluate(TOLD)
    faults = []
    if chosen and [row["seen"] for row in now] != expected:
        faults.append(f"{chosen}: {sum(row['seen'] for row in now)} rows for {sum(expected)}")
    if state["told"].partition("; ")[0] != f"{sum(expected)} of {len(rows)} defects":
        faults.append(f"{chosen}: it says {state['told']}")
    if state["counts"] != sum(expected):
        faults.append(f"{chosen}: the parts' counts add up to {state['counts']}")
    if state["chosen"] != {name: chosen.get(name, "") for name in ("find", *FILTERS)}:
        faults.append(f"{chosen}: chosen is {state['chosen']}")
    return faults
