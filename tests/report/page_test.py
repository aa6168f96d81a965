#!/usr/bin/env python3
"""The page of `heddle report` in a real browser.

  page_test.py HEDDLE FOLDER [--only TEXT] [--pictures DIR]

Makes the pages in FOLDER. Ends with 77 where Chromium or its driver is missing. --pictures writes the pictures of the
documentation instead.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import browser as driver  # noqa: E402

OPEN_MS_MOST = 12_000  # a guard for loaded machines; what is printed is under 3,000 on a quiet one
LONG_STEPS = 160_000
PICTURE_BYTES_MOST = 100 * 1024
ZOO_PAGES_LEAST = 75  # entries of the zoo of which the simulator finds something in so many schedules
ZOO_SCHEDULES = 200


def finding_of(heddle, folder, name, scenario, *arguments, schedules=200):
    """The file of the first finding."""
    found = subprocess.run([heddle, "fuzz", scenario, "--json", "--schedules", str(schedules), "--out", str(folder / f"{name}-findings"),
                            *arguments], capture_output=True, text=True, check=False)
    return json.loads(found.stdout)["scenarios"][0]["findings"][0]["file"]


def page_of(heddle, folder, name, scenario, *arguments, schedules=200):
    """The page of the first finding."""
    file = finding_of(heddle, folder, name, scenario, *arguments, schedules=schedules)
    made = folder / f"{name}.html"
    subprocess.run([heddle, "report", file, "-o", str(made)], check=True, capture_output=True)
    return made


def long_page(heddle, folder):
    return page_of(heddle, folder, "long", "zoo.queue-depth-overrun", "--set", "calls=540", "--set", "waves=4", "--set",
                   "entries=64", schedules=1)


def wide_page(heddle, folder, waves):
    return page_of(heddle, folder, f"waves{waves}", "zoo.vacuous-stress", "--set", f"waves={waves}", "--set", "lanes=2", "--set",
                   "calls=4", schedules=20)


def zoo_pages(heddle, folder):
    """A page of the first finding of each entry of the zoo."""
    kept = folder / "zoo"
    shutil.rmtree(kept, ignore_errors=True)  # of another build
    subprocess.run([heddle, "fuzz", "zoo.*", "-q", "--schedules", str(ZOO_SCHEDULES), "--out", str(kept)], capture_output=True, check=False)
    first = {}
    for file in sorted(kept.glob("*.heddle.json"), key=lambda one: (len(one.name), one.name)):
        first.setdefault(json.loads(file.read_text())["scenario"], file)

    def made(file):
        page = file.with_name(file.name.replace(".heddle.json", ".html"))
        subprocess.run([heddle, "report", str(file), "-o", str(page)], check=True, capture_output=True)
        return page

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(made, first.values()))


def opened(page, file):
    page.open(file)
    return int(page.wait_until("document.documentElement.dataset.ready", 60))


def check(true, what):
    if not true:
        raise AssertionError(what)


def row_texts(page):
    return page.run("return [...document.querySelectorAll('.row')].filter((row) => row.style.display !== 'none')"
                    ".map((row) => [Number(row.dataset.step), row.textContent])")


def settle(page):
    page.call("POST", "/execute/async", {"script": "const done = arguments[0]; requestAnimationFrame(() => requestAnimationFrame(() => done()))",
                                         "args": []})


def go_to(page, step):
    page.run("const box = document.getElementById('goto'); box.value = arguments[0];"
             "box.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter'}))", str(step))
    settle(page)


def test_deadlock(page, file):
    opened(page, file)
    check(page.text("#verdict") == "deadlock", "the verdict is shown")
    check(page.text("h1") == "zoo.crossed-calls", "so is the scenario")
    check(" replay heddle2." in page.text("#command"), "and how to play it again")
    # Both waves wait, and on the cycle.
    nodes = page.run("return [...document.querySelectorAll('.node.cycle')].map((node) => node.dataset.name)")
    check({"wave 0", "wave 1", "host server"} <= set(nodes), f"the cycle is drawn, not {nodes}")
    check(page.run("return document.querySelectorAll('.edge.cycle').length") >= 3, "with its edges")
    check("is a circle" in page.text("#explanation"), "and told")
    check("nothing can move" in page.text("#story"), "the story ends with what came of it")
    meanwhile = page.run("return [...document.querySelectorAll('#meanwhile tr')].map((row) => [row.children[0].textContent, row.children[1].textContent])")
    state = dict(meanwhile)
    check("waits for a change of" in state["wave 0 lane 0"] or "takes" in state["wave 0 lane 0"], f"wave 0 waits: {state}")
    check("waits for a change of" in state["host server"] or "takes" in state["host server"], f"the server waits: {state}")
    # A click on a wave leads to where it waits.
    page.click(".node[data-name='wave 1']")
    settle(page)
    check("wave 1 lane 0" in page.text("#detail h3"), "a click on a node selects its last step")
    check(page.run("return document.querySelectorAll('.source .here').length") == 1, "the line of source is there and marked")


def test_steps(page, file):
    opened(page, file)
    page.click("#first")
    settle(page)
    check(page.text("#detail h3").startswith("step 1:"), "the first step")
    page.press("Down", "Down", "j")
    settle(page)
    check(page.text("#detail h3").startswith("step 4:"), "steps forward")
    page.press("Up")
    page.click("#previous")
    settle(page)
    check(page.text("#detail h3").startswith("step 2:"), "and back")
    page.press("End")
    settle(page)
    last = page.text("#detail h3")
    page.press("Left")
    settle(page)
    check(page.text("#detail h3").split(":")[1] == last.split(":")[1], "Left stays with the same actor")
    check(page.text("#detail h3") != last, "and moves")
    rows = row_texts(page)
    check(len(rows) > 5 and all(text for _, text in rows), "rows have texts")
    height = page.run("return document.getElementById('space').offsetHeight")
    page.press("-", "-")
    settle(page)
    small = page.run("return document.getElementById('space').offsetHeight")
    check(small < height, "zooms out")
    page.press("+")
    settle(page)
    check(page.run("return document.getElementById('space').offsetHeight") > small, "and in again")


def test_filters_and_search(page, file):
    opened(page, file)
    steps = int(page.run("return document.getElementById('shown').dataset.steps"))
    page.run("const select = document.getElementById('wave-filter'); select.value = [...select.options].find((one) => one.textContent === 'wave 0').value;"
             "select.dispatchEvent(new Event('change'))")
    settle(page)
    left = int(page.run("return document.getElementById('shown').dataset.steps"))
    check(0 < left < steps, f"the filter leaves {left} of {steps}")
    check(all("wave 0 lane 0" in text for _, text in row_texts(page)), "only those of the wave")
    page.press("Escape")
    settle(page)
    check(int(page.run("return document.getElementById('shown').dataset.steps")) == steps, "Escape takes it off")
    page.run("const select = document.getElementById('slot-filter'); select.value = [...select.options].find((one) => one.textContent === 'port 0').value;"
             "select.dispatchEvent(new Event('change'))")
    settle(page)
    check(all("port 0" in text for _, text in row_texts(page)), "by slot")
    page.press("Escape")
    page.press("/")
    page.type("#search", "release system" + driver.KEYS["Enter"])
    settle(page)
    check(page.text("#matches").split()[0] != "0", "the search finds")
    check("release system" in page.text("#detail"), "and goes there")
    page.press("Escape")


def test_names(page, file):
    """What a reader of the screen says of the controls."""
    opened(page, file)
    nameless = page.run("return [...document.querySelectorAll('button, input, select, [tabindex], [role=dialog], canvas:not([aria-hidden])')].filter((one) =>"
                        "!(one.textContent.trim() || one.title || one.ariaLabel || one.closest('label'))).map((one) => one.outerHTML)")
    check(not nameless, f"each control has a name: {nameless}")
    low = page.run("return [...document.querySelectorAll('[aria-controls]')].filter((one) => !document.getElementById(one.getAttribute('aria-controls'))).length")
    check(low == 0, "and what one controls is there")


def test_theme(page, file):
    opened(page, file)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.run(f"return {colour}")
    for _ in range(3):
        page.click("#theme")
        if page.run(f"return {colour}") != light:
            return
    raise AssertionError("the switch changes nothing")


def test_hostile_search(page, file):
    opened(page, file)
    page.type("#search", "<img src=x onerror=alert(1)>" + driver.KEYS["Enter"])
    check(page.text("#matches") == "0 found", "what is typed stays text")


def test_long(page, file):
    ready = min(opened(page, file) for _ in range(1))
    for _ in range(4):  # the machine may be busy with others
        if ready < OPEN_MS_MOST:
            break
        ready = min(ready, opened(page, file))
    steps = int(page.run("return document.getElementById('shown').dataset.steps"))
    check(steps >= LONG_STEPS, f"{steps} steps")
    check(ready < OPEN_MS_MOST, f"it opens in {ready} ms")
    page.press("Home")
    settle(page)
    check(any(number == 1 for number, _ in row_texts(page)), "it shows the beginning")
    page.run("document.getElementById('scroll').scrollTop = document.getElementById('space').offsetHeight / 2")
    settle(page)
    middle = row_texts(page)
    check(len(middle) < 200, "only what is in view is in the document")
    check(all(steps * 0.4 < number < steps * 0.6 for number, _ in middle), f"it scrolls: {middle[:1]}")
    page.press("0")
    settle(page)
    check(page.run("return document.getElementById('space').offsetHeight <= document.getElementById('scroll').clientHeight + 60"),
          "the whole run fits")
    go_to(page, 77_777)
    check(page.text("#detail h3").startswith("step 77,777:"), "a step by number")
    print(f"  {steps} steps open in {ready} ms")


# Texts that lie on others, or are cut off. A pixel is allowed: borders of letters are not borders of words.
COVERED = """
const boxes = [...document.querySelectorAll(arguments[0])].filter((one) => one.getClientRects().length !== 0)
  .map((one) => ({name: one.textContent, box: one.getBoundingClientRect()}));
const wrong = [];
boxes.forEach((one, n) => boxes.slice(n + 1).forEach((other) => {
  if (Math.min(one.box.right, other.box.right) - Math.max(one.box.left, other.box.left) > 1 &&
      Math.min(one.box.bottom, other.box.bottom) - Math.max(one.box.top, other.box.top) > 1) wrong.push(`${one.name} | ${other.name}`);
}));
const pane = document.querySelector(arguments[1])?.getBoundingClientRect();
for (const {name, box} of boxes)
  if (box.left < pane.left - 1 || box.top < pane.top - 1 || box.bottom > pane.bottom + 1 || (arguments[2] && box.right > pane.right + 1)) wrong.push(`${name} is cut off`);
return wrong;
"""


def covered_labels(page):
    return page.run(COVERED, "#graph .edge text, #graph .node rect", "#graph svg", True)


def covered_titles(page):
    return page.run(COVERED, "#heads span", "#heads", False)


def test_zoo(page, files):
    """Labels of the graph and titles of columns can be read on all pages, and each opens in time."""
    check(len(files) >= ZOO_PAGES_LEAST, f"{len(files)} pages")
    slowest, wrong = (0, ""), []
    for file in files:
        ready = opened(page, file)
        slowest = max(slowest, (ready, file.name))
        for covered in (covered_labels(page), covered_titles(page)):
            wrong += [f"{file.name}: {one}" for one in covered]
    print(f"  {len(files)} pages; the slowest opens in {slowest[0]} ms: {slowest[1]}")
    check(not wrong, f"{len(wrong)} texts cannot be read: {wrong[:8]}")


def test_many_waves(page, files):
    for waves, file in files.items():
        ready = opened(page, file)
        check(ready < OPEN_MS_MOST, f"{waves} waves open in {ready} ms")
        titles = "return [...document.querySelectorAll('#heads span')].filter((one) => !one.hidden).map((one) => one.dataset.title)"
        together = page.run(titles)
        page.click("#alike")
        settle(page)
        apart = page.run(titles)
        check({f"wave {n}" for n in range(waves)} <= set(apart), f"each wave has its title: {apart}")
        check(len(together) < len(apart), f"waves that behave alike are in one column: {together}")
        check(not covered_titles(page), f"and they can be read: {covered_titles(page)[:5]}")
        print(f"  {waves} waves: opens in {ready} ms; {len(together)} columns, {len(apart)} with each wave alone")


def test_folds(page, file):
    opened(page, file)
    rows = "return Number(document.getElementById('shown').dataset.rows)"
    steps = int(page.run("return document.getElementById('shown').dataset.steps"))
    folded = page.run(rows)
    check(folded < steps / 2, f"{steps} steps are {folded} rows")
    page.press("z")
    settle(page)
    check(page.run(rows) == steps, "each step has its row where nothing is folded")
    page.press("z", "Home")
    settle(page)
    check(page.run(rows) == folded, "and is folded again")
    page.run("document.getElementById('scroll').scrollTop = 0")
    first = page.run("const fold = [...document.querySelectorAll('.row.folds')].find((row) => row.style.display !== 'none');"
                     "const seen = [Number(fold.dataset.step), Number(fold.dataset.folds)]; fold.click(); return seen")
    settle(page)
    check(page.run(rows) == folded + first[1] - 1, "a click opens a fold")
    go_to(page, steps - 1)
    check(page.text("#detail h3").startswith(f"step {steps - 1:,}:"), "a step within a fold can be gone to")


def test_links(page, file):
    page.open(file)
    page.call("POST", "/url", {"url": "about:blank"})
    page.call("POST", "/url", {"url": pathlib.Path(file).resolve().as_uri() + "#step=12"})
    page.wait_until("document.documentElement.dataset.ready")
    settle(page)
    check(page.text("#detail h3").startswith("step 12:"), "the address names the step")
    page.press("Down")
    settle(page)
    check(page.run("return location.hash") == "#step=13", "and is that of the selected one")
    link = page.run("const link = document.querySelector('#story a'); link.click(); return link.textContent.split(' ')[1]")
    settle(page)
    check(page.text("#detail h3").startswith(f"step {link}:"), "the story leads to its steps")
    check(page.run("return document.querySelectorAll('#slots-now tr.changed').length") >= 1, "what the step changes is marked")


def test_help_and_picture(page, file):
    opened(page, file)
    page.press("?")
    check(page.run("return !document.getElementById('help').hidden"), "? shows the keys")
    page.press("Escape")
    check(page.run("return document.getElementById('help').hidden"), "Escape closes them")
    page.click("#keys")
    page.click("#close-help")
    check(page.run("return document.getElementById('help').hidden"), "and so does their button")
    page.run("HTMLAnchorElement.prototype.click = function () { window.saved_as = this.download; };"
             "URL.createObjectURL = (blob) => { window.saved = blob; return 'blob:none'; }")
    page.press("x")
    svg = page.call("POST", "/execute/async", {"script": "const done = arguments[0]; window.saved.text().then(done)", "args": []})
    check(page.run("return window.saved_as") == "zoo.crossed-calls.svg", "the picture is a file")
    root = xml.etree.ElementTree.fromstring(svg)
    texts = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    check("host server" in texts and "wave 0" in texts, f"the picture has its titles: {texts[:10]}")
    check(len(list(root.iter("{http://www.w3.org/2000/svg}path"))) > 10, "and marks")


def test_map(page, file):
    opened(page, file)
    page.press("Home")
    settle(page)
    page.run("const map = document.getElementById('map'), box = map.getBoundingClientRect();"
             "map.setPointerCapture = () => {};"
             "map.dispatchEvent(new PointerEvent('pointerdown', {clientX: box.left + 5, clientY: box.top + box.height * 0.5, buttons: 1, pointerId: 1}))")
    settle(page)
    rows = page.run("return Number(document.getElementById('shown').dataset.rows)")
    middle = page.run("return (document.getElementById('scroll').scrollTop + document.getElementById('scroll').clientHeight / 2) /"
                      "document.getElementById('space').offsetHeight")
    check(rows > 100 and 0.4 < middle < 0.6, f"a click on the map leads to the middle: {middle}")


def test_sizes(page, files):
    """Three sizes, dark and light: who, where and the source are in view on a wide screen, and no page is wider than its window."""
    try:
        for width, height in ((1400, 900), (1000, 760), (420, 820)):
            page.resize(width, height)
            for file in files:
                opened(page, file)
                for theme in ("light", "dark"):
                    page.run("document.documentElement.dataset.theme = arguments[0]", theme)
                    page.run("document.getElementById('run').scrollIntoView()")
                    settle(page)
                    inner = page.run("return innerWidth")
                    wide = page.run("return document.documentElement.scrollWidth")
                    check(wide <= inner, f"{file.name} is {wide} wide in {inner}")
                    if width < 1400:
                        continue
                    seen = page.run("const row = [...document.querySelectorAll('.row')].find((one) => one.style.display !== 'none');"
                                    "const right = (one) => one.getBoundingClientRect().right, pane = right(document.getElementById('scroll'));"
                                    "const at = row.querySelector('.at').getBoundingClientRect();"
                                    "return [pane - at.left, right(row.querySelector('.who')) < pane, right(document.querySelector('.source')) <= innerWidth]")
                    check(seen[0] > 100 and seen[1] and seen[2], f"{file.name}: who, where and source are in view: {seen}")
    finally:
        page.resize(1500, 1100)


def test_mended(page, file):
    opened(page, file)
    check(page.run("return !document.getElementById('mend').hidden"), "what would mend it is on the page")
    told = page.text("#mend")
    check("scenarios/zoo/weakened.h:" in told and "acquire" in told, f"the line and the change: {told}")
    check("silent in 300 schedules" in told and "proved" in told and "--assume" in told, f"and what was explored: {told}")


def test_not_mended(page, file):
    opened(page, file)
    check(page.run("return document.getElementById('mend').hidden"), "nothing is said where nothing was asked")


def pictures(heddle, folder, into):
    into = pathlib.Path(into)
    into.mkdir(parents=True, exist_ok=True)
    crossed = page_of(heddle, folder, "crossed", "zoo.crossed-calls")
    link = page_of(heddle, folder, "link", "zoo.release-does-not-drain")
    with driver.browser(1280, 760) as page:
        opened(page, crossed)
        page.run("document.getElementById('scroll').scrollTop = 0")
        settle(page)
        page.screenshot(into / "summary.png")
        page.run("document.getElementById('run').scrollIntoView()")
        go_to(page, 22)
        page.screenshot(into / "run.png")
        opened(page, link)
        page.click("#theme")
        page.run("document.getElementById('run').scrollIntoView()")
        go_to(page, 14)
        page.screenshot(into / "late.png")
        page.resize(1280, 560)
        opened(page, wide_page(heddle, folder, 32))
        page.run("document.getElementById('run').scrollIntoView()")
        go_to(page, 600)
        page.screenshot(into / "waves.png")
    for file in sorted(into.glob("*.png")):
        check(file.stat().st_size < PICTURE_BYTES_MOST, f"{file} is small")
        print(f"{file}: {file.stat().st_size} bytes")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("heddle")
    parser.add_argument("folder")
    parser.add_argument("--pictures")
    parser.add_argument("--only", help="tests whose name has this in it")
    asked = parser.parse_args()
    if None in driver.programs():
        print("skipped: chromium and chromium-driver are not installed (section [browser] of cmake/debian-packages.txt)")
        return 77
    folder = pathlib.Path(asked.folder)
    folder.mkdir(parents=True, exist_ok=True)
    if asked.pictures:
        pictures(asked.heddle, folder, asked.pictures)
        return 0
    crossed = page_of(asked.heddle, folder, "crossed", "zoo.crossed-calls")
    many_steps = page_of(asked.heddle, folder, "many_steps", "zoo.ports-below-occupancy")
    spinning = page_of(asked.heddle, folder, "spinning", "zoo.swapped-compare")
    wide = {waves: wide_page(asked.heddle, folder, waves) for waves in (8, 32, 64)}
    finding = finding_of(asked.heddle, folder, "mended", "zoo.no-fence-at-lock")
    mended = folder / "mended.html"
    subprocess.run([asked.heddle, "mend", finding, "--schedules", "300"], check=True, capture_output=True)
    subprocess.run([asked.heddle, "report", finding, "-o", str(mended)], check=True, capture_output=True)
    tests = [(test_deadlock, crossed), (test_steps, many_steps), (test_filters_and_search, crossed), (test_theme, crossed), (test_names, crossed),
             (test_hostile_search, crossed), (test_long, long_page(asked.heddle, folder)), (test_many_waves, wide), (test_folds, spinning),
             (test_links, crossed), (test_help_and_picture, crossed), (test_map, many_steps), (test_sizes, [crossed, wide[32]]),
             (test_mended, mended), (test_not_mended, crossed), (test_zoo, zoo_pages(asked.heddle, folder))]
    if asked.only:
        tests = [(test, file) for test, file in tests if asked.only in test.__name__]
    failed = 0
    with driver.browser() as page:
        for test, file in tests:
            try:
                test(page, file)
                problems = page.problems()
                check(not problems, f"the page complains: {problems}")
                print(f"ok      {test.__name__}")
            except (AssertionError, RuntimeError) as error:
                failed += 1
                print(f"FAILED  {test.__name__}: {error}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
