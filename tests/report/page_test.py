#!/usr/bin/env python3
"""The page of `heddle report` in a real browser.

  page_test.py HEDDLE FOLDER [--only TEXT] [--pictures DIR]

Makes the pages in FOLDER. Ends with 77 where Chromium or its driver is missing. --pictures writes the pictures of the
documentation instead.
"""

import argparse
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
ZOO_SCHEDULES_FEW = 5


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
    listed = subprocess.run([heddle, "list", "zoo.*", "--json"], check=True, capture_output=True, text=True)
    # Of an entry's twin nothing is found.
    names = {one["name"] for one in json.loads(listed.stdout)["scenarios"]}
    wanted = sorted(name for name in names if name.removesuffix(".fixed") not in names or not name.endswith(".fixed"))
    first = {}
    # Most show in the first schedules.
    for schedules in (ZOO_SCHEDULES_FEW, ZOO_SCHEDULES):
        out = kept / str(schedules)
        subprocess.run([heddle, "fuzz", *(name for name in wanted if name not in first), "-q", "--schedules", str(schedules), "--out", str(out)],
                       capture_output=True, check=False)
        for file in sorted(out.glob("*.heddle.json"), key=lambda one: (len(one.name), one.name)):
            first.setdefault(json.loads(file.read_text())["scenario"], file)
    files = list(first.values())
    subprocess.run([heddle, "report", *map(str, files)], check=True, capture_output=True)
    return [file.with_name(file.name.replace(".heddle.json", ".html")) for file in files]


def opened(page, file):
    page.open(file)
    return int(page.wait_until("document.documentElement.dataset.ready", 60))


def check(true, what):
    if not true:
        raise AssertionError(what)


def data_of(file):
    """What the page draws from."""
    text = pathlib.Path(file).read_text()
    begin = text.index('<script type="application/json" id="data">')
    return json.loads(text[text.index(">", begin) + 1:text.index("</script>", begin)])


def times_of(data):
    """Of each step, where the clock of its thread stands behind it, in ns; of machines without virtual time nothing."""
    if not data["times"]:
        return []
    put, stands, times = dict(data["times"]), {}, []
    for step, sort in enumerate(data["steps"]):
        actor = data["sorts"][sort][0]
        stands[actor] = put.get(step, stands.get(actor))
        times.append(stands[actor])
    return times


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


def set_theme(page, wanted):
    """By the switch: the picture has colours of its own, which it takes over then."""
    for _ in range(3):
        if page.run("return document.documentElement.dataset.theme") == wanted and page.text("#theme") == f"theme: {wanted}":
            return
        page.run("document.getElementById('theme').click()")
    raise AssertionError(f"there is no theme {wanted}")


def test_theme(page, file):
    opened(page, file)
    colour = "getComputedStyle(document.body).backgroundColor"
    light = page.run(f"return {colour}")
    for _ in range(3):
        page.click("#theme")
        if page.run(f"return {colour}") != light:
            return
    raise AssertionError("the switch changes nothing")


# Texts whose colour is too near to what is behind them (WCAG 2.2, 1.4.3), each with its contrast.
PALE = """
const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
const light = (colour) => colour.slice(0, 3).map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4)
  .reduce((sum, one, n) => sum + one * [0.2126, 0.7152, 0.0722][n], 0);
const behind = (one) => {
  for (let at = one; at; at = at.parentElement) {
    const back = parts(getComputedStyle(at).backgroundColor);
    if (back.length === 3 || back[3] === 1) return back;
  }
  return [255, 255, 255];
};
return [...document.querySelectorAll("body *:not(script, style, option, svg *)")].filter((one) => one.getClientRects().length !== 0 &&
  [...one.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim() !== "")).map((one) => {
  const [low, high] = [light(parts(getComputedStyle(one).color)), light(behind(one))].sort((a, b) => a - b);
  return [one.textContent.trim().slice(0, 40), one.className, (high + 0.05) / (low + 0.05)];
}).filter(([, , contrast]) => contrast < 4.5);
"""


def test_contrast(page, file):
    opened(page, file)
    for theme in ("light", "dark"):
        set_theme(page, theme)
        go_to(page, 20)
        pale = page.run(PALE)
        check(not pale, f"{theme}: {len(pale)} texts are too pale: {pale[:5]}")


def test_axe(page, files):
    """axe-core finds nothing serious; HEDDLE_AXE is its axe.min.js (npm pack axe-core)."""
    script = os.environ.get("HEDDLE_AXE")
    if not script:
        print("  left out: HEDDLE_AXE does not name axe.min.js of axe-core")
        return
    text = pathlib.Path(script).read_text()
    for file in files:
        opened(page, file)
        for theme in ("light", "dark"):
            set_theme(page, theme)
            page.run(text)
            found = page.call("POST", "/execute/async", {"args": [], "script": "const done = arguments[0]; axe.run({resultTypes: ['violations']}).then("
                              "(all) => done(all.violations.map((one) => `${one.impact}: ${one.help}: ${one.nodes[0].target.join(' ')}`)))"})
            serious = [one for one in found if one.startswith(("serious", "critical"))]
            check(not serious, f"{file.name}, {theme}: {serious}")


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
    timed = sum(check_times(file) for file in files)
    check(timed > ZOO_PAGES_LEAST / 2, f"{timed} pages have virtual time")
    print(f"  {timed} pages have virtual time")
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
    open_at(page, file, "#step=12")
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
    svg = saved_picture(page)
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


ROW_PLACES = """
const top = document.getElementById('scroll').getBoundingClientRect().top;
return [...document.querySelectorAll('.row')].filter((row) => row.style.display !== 'none')
  .map((row) => [Number(row.dataset.step), row.getBoundingClientRect().top - top]).sort(([, one], [, other]) => one - other);
"""


def saved_picture(page):
    page.run("HTMLAnchorElement.prototype.click = function () { window.saved_as = this.download; };"
             "URL.createObjectURL = (blob) => { window.saved = blob; return 'blob:none'; }")
    page.press("x")
    return page.call("POST", "/execute/async", {"script": "const done = arguments[0]; window.saved.text().then(done)", "args": []})


def open_at(page, file, link):
    page.call("POST", "/url", {"url": "about:blank"})
    page.call("POST", "/url", {"url": pathlib.Path(file).resolve().as_uri() + link})
    page.wait_until("document.documentElement.dataset.ready")
    settle(page)


def test_time_axis(page, files):
    """Virtual time as the axis: in its order, with room for what passes, and nothing else is lost by it."""
    late, at_once = files
    data = data_of(late)
    times = times_of(data)
    check(len(times) == len(data["steps"]) and None not in times, "each step has its time")
    opened(page, late)
    page.press("z", "Home")  # a line for each step
    page.run("document.getElementById('scroll').scrollTop = 0")
    settle(page)
    by_step = page.run(ROW_PLACES)
    check([step for step, _ in by_step] == sorted(step for step, _ in by_step), "steps are in the order of the schedule at first")
    high = by_step[1][1] - by_step[0][1]
    go_to(page, 12)
    page.press("v")
    settle(page)
    check(page.run("return location.hash") == "#step=12&axis=time", "the link tells of the axis")
    check(page.run("return document.getElementById('axis').getAttribute('aria-pressed')") == "true", "and so does the button")
    check(page.text("#detail h3").startswith("step 12:"), "the selected step stays")
    check(f"stands at {times[11]:,} ns of virtual time" in page.text("#detail"), "its time is told")
    page.run("document.getElementById('scroll').scrollTop = 0")
    settle(page)
    rows = page.run(ROW_PLACES)
    seen = [step for step, _ in rows]
    check(seen != sorted(seen), "this run is in another order by its clocks, else the test would see nothing")
    expected = sorted(range(1, len(times) + 1), key=lambda step: (times[step - 1], step))
    check(len(seen) > 10 and seen == expected[:len(seen)], f"steps stand in the order of the clocks: {seen}")
    # The same time takes no room, more time not less of it.
    apart = sorted((times[later - 1] - times[step - 1], below - above - high) for (step, above), (later, below) in zip(rows, rows[1:]))
    check(all(abs(room) < 1 for passed, room in apart if passed == 0), f"no room where no time passes: {apart}")
    check(all(room > 1 for passed, room in apart if passed > 0), f"room where time passes: {apart}")
    check(all(room <= more + 1 for (_, room), (_, more) in zip(apart, apart[1:])), f"in proportion: {apart}")
    check(len({passed for passed, _ in apart}) > 2, f"several times, else the test would see nothing: {apart}")
    svg = saved_picture(page)
    texts = [one.text for one in xml.etree.ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    wanted = {f"{times[step - 1]:,}" for step in seen[:8]}
    check("ns" in texts and wanted <= set(texts), f"the picture has the times {wanted}: {texts}")
    # The map is of this axis.
    page.run("const map = document.getElementById('map'), box = map.getBoundingClientRect(); map.setPointerCapture = () => {};"
             "map.dispatchEvent(new PointerEvent('pointerdown', {clientX: box.left + 5, clientY: box.bottom - 2, buttons: 1, pointerId: 1}))")
    settle(page)
    check(expected[-1] in [step for step, _ in page.run(ROW_PLACES)], "the end of the map is the end of time")
    page.press("End")
    settle(page)
    check(page.text("#detail h3").startswith(f"step {expected[-1]:,}:"), "keys go along the axis")
    page.click("#axis")
    settle(page)
    check(page.run("return location.hash") == f"#step={expected[-1]}", "the button leads back to steps")
    page.run("document.getElementById('scroll').scrollTop = 0")
    settle(page)
    check(page.run(ROW_PLACES) == by_step, "which are where they were")
    check("virtual time" in page.run("return document.getElementById('help').textContent"), "the list of keys has it")
    # Links to steps, on either axis.
    open_at(page, late, "#step=12&axis=time")
    check(page.text("#detail h3").startswith("step 12:"), "a link with an axis leads to its step")
    check(page.run("return document.getElementById('axis').getAttribute('aria-pressed')") == "true", "on that axis")
    page.run("location.hash = '#step=13'")
    settle(page)
    check(page.run("return document.getElementById('axis').getAttribute('aria-pressed')") == "false", "one without leads to the axis of steps")
    # Where all have one memory there is no virtual time.
    open_at(page, at_once, "#step=3&axis=time")
    check(page.text("#detail h3").startswith("step 3:"), "the step is there")
    check(not data_of(at_once)["times"] and page.run("return document.getElementById('axis').hidden"), "no axis is offered")
    page.press("v")
    settle(page)
    check(page.run("return location.hash") == "#step=3", "nor is there a key for it")
    check("virtual time" not in page.run("return document.getElementById('help').textContent + document.getElementById('detail').textContent"),
          "and nothing speaks of it")


def check_times(file):
    """No thread goes back in time, and no value is read before it is stored; true if the page has virtual time."""
    data = data_of(file)
    times, stands = times_of(data), {}
    for step, time in enumerate(times):
        actor = data["sorts"][data["steps"][step]][0]
        check(stands.get(actor, 0) <= time, f"{file.name}: step {step + data['first_step']} is before what its thread did before")
        stands[actor] = time
    for store, seen, _ in data["flows"] if times else []:
        check(seen is None or times[store] <= times[seen], f"{file.name}: the store of step {store + data['first_step']} is read before it is made")
    return bool(times)


SCREENS = pathlib.Path(__file__).parent / "screens.json"
SCREEN_CELLS = 16, 12  # across and down
# So far, of 255, the colour of a cell may be from what it was, and so many cells may be further: another font does not come to that.
SCREEN_FAR = 10
SCREEN_CELLS_MOST = 0.05

# A screenshot as cells of one colour each, which is their mean: "44eeff" for each cell, a line of them after the other.
IN_CELLS = """
const [data, across, down, done] = arguments;
const picture = new Image();
picture.onload = () => {
  let [width, height] = [across * 32, down * 32], from = picture;
  let paper;
  for (;;) {  // by halves, which are means
    paper = Object.assign(document.createElement("canvas"), {width, height}).getContext("2d", {willReadFrequently: true});
    paper.imageSmoothingQuality = "high";
    paper.drawImage(from, 0, 0, width, height);
    if (width === across) break;
    [width, height, from] = [width / 2, height / 2, paper.canvas];
  }
  const seen = paper.getImageData(0, 0, across, down).data;
  const cells = [];
  for (let n = 0; n < across * down; ++n) cells.push([0, 1, 2].map((c) => seen[4 * n + c].toString(16).padStart(2, "0")).join(""));
  done(cells.join(""));
};
picture.onerror = () => done("");
picture.src = `data:image/png;base64,${data}`;
"""


def in_cells(page):
    shot = page.call("GET", "/screenshot")
    cells = page.call("POST", "/execute/async", {"script": IN_CELLS, "args": [shot, *SCREEN_CELLS]})
    check(len(cells) == 6 * SCREEN_CELLS[0] * SCREEN_CELLS[1], "the page can look at its picture")
    return cells


def cells_that_differ(one, other):
    """Of two pictures in cells: numbers of those whose colours are not nearly the same."""
    colours = [list(zip(*[iter(bytes.fromhex(each))] * 3)) for each in (one, other)]
    return [n for n, cell in enumerate(zip(*colours)) if max(abs(a - b) for a, b in zip(*cell)) > SCREEN_FAR]


def is_another(differ):
    return len(differ) > SCREEN_CELLS_MOST * SCREEN_CELLS[0] * SCREEN_CELLS[1]


# Changes of the style that a comparison of pictures has to find.
WRONG_STYLES = {
    "a background": "#detail { background: #b06000 !important }",
    "a part that is gone": "#detail { display: none !important }",
    "a part that is narrow": "#stage { grid-template-columns: 1fr 56px 1fr !important }",
    "rows that are gone": "#rows { display: none !important }",
    "marks that are gone": "#canvas { visibility: hidden !important }",
    "another theme": ":root { filter: invert(1) }",
}
ANOTHER_FONT = "body, button, select, input { font-family: 'DejaVu Serif', serif !important }"


class Screens:
    """What the page looked like when it was last looked at; with `renewed` what it looks like now is to be that."""

    def __init__(self, renewed):
        self.renewed = renewed
        self.known = json.loads(SCREENS.read_text()) if SCREENS.exists() else {}
        self.seen, self.wrong = {}, []

    def compare(self, name, cells):
        self.seen[name] = cells
        if self.renewed:
            return
        differ = cells_that_differ(cells, self.known.get(name, ""))
        if name not in self.known or is_another(differ):
            self.wrong.append(f"{name} ({len(differ)} cells, at {[(n % SCREEN_CELLS[0], n // SCREEN_CELLS[0]) for n in differ[:6]]})")

    def end(self):
        if self.renewed:
            SCREENS.write_text(json.dumps(self.seen, indent=1, sort_keys=True) + "\n")
        check(not self.wrong, f"pictures are not those of {SCREENS.name}: {self.wrong}. Where that is meant, renew them: page_test.py --screens")


def check_wrong_styles(page, cells):
    """The comparison finds each of these, else it would not be one; and a font is nothing that it finds."""

    def differ_with(style):
        page.run("const made = document.createElement('style'); made.id = 'wrong'; made.textContent = arguments[0]; document.head.append(made)", style)
        settle(page)
        differ = cells_that_differ(in_cells(page), cells)
        page.run("document.getElementById('wrong').remove()")
        settle(page)
        return differ

    for what, style in WRONG_STYLES.items():
        differ = differ_with(style)
        check(is_another(differ), f"a picture tells of {what}: {len(differ)} cells")
    differ = differ_with(ANOTHER_FONT)
    check(not is_another(differ), f"a picture does not tell of a font: {len(differ)} cells")


def test_sizes(page, given):
    """Three sizes, dark and light: actor, where and the source are in view on a wide screen, no page is wider than its window, and each looks as it did."""
    files, renewed = given
    screens = Screens(renewed)
    try:
        for width, height in ((1400, 900), (1000, 760), (420, 820)):
            page.resize(width, height)
            for file in files:
                opened(page, file)
                for theme in ("light", "dark"):
                    set_theme(page, theme)
                    page.run("document.getElementById('run').scrollIntoView()")
                    settle(page)
                    cells = in_cells(page)
                    screens.compare(f"{file.stem} {width} {theme}", cells)
                    if width == 1400 and file == files[0]:
                        check_wrong_styles(page, cells)
                    inner = page.run("return innerWidth")
                    wide = page.run("return document.documentElement.scrollWidth")
                    check(wide <= inner, f"{file.name} is {wide} wide in {inner}")
                    if width < 1400:
                        continue
                    seen = page.run("const row = [...document.querySelectorAll('.row')].find((one) => one.style.display !== 'none');"
                                    "const right = (one) => one.getBoundingClientRect().right, pane = right(document.getElementById('scroll'));"
                                    "const at = row.querySelector('.at').getBoundingClientRect();"
                                    "return [pane - at.left, right(row.querySelector('.actor')) < pane, right(document.querySelector('.source')) <= innerWidth]")
                    check(seen[0] > 100 and seen[1] and seen[2], f"{file.name}: actor, where and source are in view: {seen}")
        screens.end()
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
        open_at(page, crossed, "#step=22&axis=time")
        page.screenshot(into / "time.png")
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
    parser.add_argument("--screens", action="store_true", help="write screens.json anew, of what the pages look like now")
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
    at_once = page_of(asked.heddle, folder, "at_once", "zoo.crossed-calls", "--set", "fidelity=interleaving")
    many_steps = page_of(asked.heddle, folder, "many_steps", "zoo.ports-below-occupancy")
    spinning = page_of(asked.heddle, folder, "spinning", "zoo.swapped-compare")
    wide = {waves: wide_page(asked.heddle, folder, waves) for waves in (8, 32, 64)}
    finding = finding_of(asked.heddle, folder, "mended", "zoo.no-fence-at-lock")
    mended = folder / "mended.html"
    subprocess.run([asked.heddle, "mend", finding, "--schedules", "300"], check=True, capture_output=True)
    subprocess.run([asked.heddle, "report", finding, "-o", str(mended)], check=True, capture_output=True)
    tests = [(test_deadlock, crossed), (test_steps, many_steps), (test_filters_and_search, crossed), (test_theme, crossed), (test_names, crossed), (test_contrast, crossed), (test_axe, [crossed, wide[32]]),
             (test_hostile_search, crossed), (test_long, long_page(asked.heddle, folder)), (test_many_waves, wide), (test_folds, spinning),
             (test_links, crossed), (test_help_and_picture, crossed), (test_map, many_steps), (test_time_axis, (crossed, at_once)), (test_sizes, ([crossed, wide[32]], asked.screens)),
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
