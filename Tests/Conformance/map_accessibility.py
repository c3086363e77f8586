"""Checks of a page by axe-core, over Chromium's accessibility tree, and of its contrast."""

from axe_playwright_python.sync_playwright import Axe

# Roles that a user operates; each such node needs a name.
OPERATED = {
    "button", "link", "textbox", "searchbox", "combobox", "listbox", "option", "checkbox", "dialog", "application",
    "img", "image",
}

# Returns the contrast of every text that is visible, as WCAG 2.2 defines it, with the ratio that its size needs.
CONTRAST = r"""
() => {
  const parse = (text) => {
    const numbers = (text.match(/[-\d.]+(e-?\d+)?/g) || []).map(Number);
    const [red, green, blue, alpha = 1] = text.startsWith("color(srgb")
      ? [numbers[0] * 255, numbers[1] * 255, numbers[2] * 255, numbers[3]] : numbers;
    return { red, green, blue, alpha: text === "transparent" ? 0 : alpha };
  };
  const over = (top, below) => {
    const mix = (name) => top[name] * top.alpha + below[name] * (1 - top.alpha);
    return { red: mix("red"), green: mix("green"), blue: mix("blue"), alpha: 1 };
  };
  const luminance = ({ red, green, blue }) => {
    const [r, g, b] = [red, green, blue].map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    const layers = [];
    for (let each = node; each; each = each.parentElement) {
      // The disc of a cluster is drawn by a pseudo-element behind its number.
      const disc = each.classList?.contains("circle") ? getComputedStyle(each, "::before").backgroundColor : undefined;
      for (const text of [disc, getComputedStyle(each).backgroundColor].filter(Boolean)) layers.push(parse(text));
    }
    const lowest = parse(getComputedStyle(document.body).backgroundColor);
    return layers.reverse().reduce((below, top) => over(top, below), lowest);
  };
  const results = [];
  for (const node of document.querySelectorAll("body *")) {
    const own = [...node.childNodes].filter((child) => child.nodeType === 3).map((child) => child.data).join("").trim();
    const text = own || node.placeholder || "";
    if (!text || !node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) continue;
    const frame = node.getBoundingClientRect();
    if (frame.width < 2 || frame.height < 2 || frame.right < 0) continue;
    if (["SCRIPT", "STYLE", "NOSCRIPT", "OPTION"].includes(node.tagName)) continue;
    const style = getComputedStyle(node, own ? undefined : "::placeholder");
    const below = ground(node);
    const colour = over(parse(node instanceof SVGElement ? style.fill : style.color), below);
    const [a, b] = [luminance(colour), luminance(below)];
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    results.push({ text: text.slice(0, 40), ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), needed });
  }
  return results;
}
"""


def violations(page):
    """Returns the rules of axe-core that a page violates, each with an element, and the number of those it passes."""
    found = Axe().run(page).response
    return [f"{rule['id']}: {rule['nodes'][0]['html'][:200]}" for rule in found["violations"]], len(found["passes"])


def nodes(page):
    """Returns the nodes of the accessibility tree that are not ignored, as pairs of role and name."""
    session = page.context.new_cdp_session(page)
    session.send("Accessibility.enable")
    tree = session.send("Accessibility.getFullAXTree")["nodes"]
    return [
        (node.get("role", {}).get("value", ""), node.get("name", {}).get("value", "").strip(), node)
        for node in tree if not node.get("ignored")]


def unnamed(page):
    """Returns the roles of the operated nodes that have no name."""
    return [role for role, name, _ in nodes(page) if role in OPERATED and not name]


def roles(page):
    return {(role, name) for role, name, _ in nodes(page)}


def low_contrast(page):
    """Returns the texts whose contrast is too low, with the ratio."""
    return [
        f"{result['text']!r} has {result['ratio']:.2f}, needs {result['needed']}"
        for result in page.evaluate(CONTRAST) if result["ratio"] < result["needed"] - 0.005]


def count_of_texts(page):
    return len(page.evaluate(CONTRAST))


def focus_order(page, limit=60):
    """Returns the identifiers of the elements that Tab reaches from the top of the page, in their order."""
    page.locator("a.skip").focus()
    order = []
    for _ in range(limit):
        name = page.evaluate(
            "() => { const node = document.activeElement; if (!node || node === document.body) return '';"
            " return node.id || node.dataset.testid || node.textContent.trim() || node.tagName.toLowerCase(); }")
        if not name or (order and name == order[0]):
            break
        order.append(name)
        page.keyboard.press("Tab")
    return order
