# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Uses the page of `rondo show` in headless Chromium and prints what happens.

    browse.py PAGE [SCREENSHOT [light|dark]]
"""

import os
import sys
import tempfile
import time

from selenium import webdriver
from selenium.webdriver import ActionChains
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By

FRAME = "requestAnimationFrame(() => requestAnimationFrame(arguments[0]))"


def open_browser(folder):
    options = Options()
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                 "--window-size=1280,720", f"--user-data-dir={folder}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(options=options, service=Service("/usr/bin/chromedriver"))


def use(driver, page):
    begin = time.monotonic()
    driver.get("file://" + os.path.abspath(page))
    driver.execute_async_script(FRAME)
    print(f"opened in {time.monotonic() - begin:.2f} s")
    run = driver.execute_script
    canvas = driver.find_element(By.TAG_NAME, "canvas")
    left, top = run("const r = canvas.getBoundingClientRect(); return [r.left, r.top]")

    def keys(text):
        ActionChains(driver).send_keys(text).perform()
        driver.execute_async_script(FRAME)

    def hover(task):
        x, y = run("const p = panels[0], i = arguments[0]; return [xOf(p.tasks.start[i]) + 3,"
                   " yOf(p, rankOf(p, i)) + 3]", task)
        action = ActionChains(driver)
        action.w3c_actions.pointer_action.move_to_location(int(left + x), int(top + y))
        action.perform()
        driver.execute_async_script(FRAME)
        return driver.find_element(By.ID, "hint").text

    def pixels():
        return run("return canvas.toDataURL()")

    print("hover:", hover(0).splitlines()[0])
    first = run("return panels[0].tasks.waited.findIndex((w) => w < 0)")
    print("hover with a wait:", hover(first).splitlines()[-1].split(", ready")[0])
    whole = run("return view.perPixel")
    keys("+")
    closer = run("return view.perPixel")
    ActionChains(driver).scroll_from_origin(
        webdriver.common.actions.wheel_input.ScrollOrigin.from_element(canvas), 0, -300).perform()
    driver.execute_async_script(FRAME)
    closest = run("return view.perPixel")
    before = run("return view.from")
    keys("\ue014")  # arrow right
    moved = run("return view.from")
    shifted = pixels()
    run("redraw()")
    driver.execute_async_script(FRAME)
    same = run("""const load = (url) => new Promise((done) => { const i = new Image(); i.onload = () => {
        const c = document.createElement('canvas'); c.width = i.width; c.height = i.height;
        const p = c.getContext('2d'); p.drawImage(i, 0, 0); done(p.getImageData(0, 0, c.width, c.height).data); };
        i.src = url; });
        return Promise.all([load(arguments[0]), load(arguments[1])]).then(([a, b]) => {
          let other = 0; for (let i = 0; i < a.length; i += 4) other += Math.abs(a[i] - b[i]) > 40; return other / (a.length / 4); });""",
               shifted, pixels())
    ActionChains(driver).drag_and_drop_by_offset(canvas, -60, 0).perform()
    driver.execute_async_script(FRAME)
    dragged = run("return view.from")
    keys("0")
    print(f"zoom: keys {closer < whole}, wheel {closest < closer}, back {run('return view.perPixel') == whole}")
    print(f"pan: keys {moved > before}, drag {dragged > moved}")
    plain = pixels()
    keys("c")
    print(f"critical path: {pixels() != plain}, of {run('return criticalPath(panels[0]).length')} steps")
    keys("c")
    driver.find_element(By.ID, "show-messages").click()
    driver.execute_async_script(FRAME)
    print("messages:", pixels() != plain)
    keys("m")
    keys("b")
    print("memory hidden:", pixels() != plain)
    keys("b")
    dark = run("return isDark()")
    keys("d")
    print("theme: dark -> light, or light -> dark:", run("return isDark()") != dark and pixels() != plain)
    keys("d")
    print("moved pixels are those drawn anew:", same < 0.001)
    print("console:", driver.get_log("browser"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        driver = open_browser(folder)
        try:
            use(driver, sys.argv[1])
            if len(sys.argv) > 2:
                driver.set_window_size(1280, 560)
                driver.execute_script("setTheme(arguments[0] === 'dark')", (sys.argv + ["light"])[3])
                ActionChains(driver).move_by_offset(0, 0).perform()
                driver.execute_async_script(FRAME)
                driver.save_screenshot(sys.argv[2])
        finally:
            driver.quit()


if __name__ == "__main__":
    main()
