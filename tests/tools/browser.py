"""Pages of reports in a real browser, from a file, without a network."""

import shutil

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
DESKTOP = {"width": 1280, "height": 900}
PHONE = {"width": 375, "height": 812}
# Colours of text and the grounds they stand on, by their names in the style sheet.
TEXT_ON_GROUND = (
    ("ink", "paper"),
    ("quiet", "paper"),
    ("quiet", "raised"),
    ("accent", "paper"),
    ("ink", "gold"),
    ("gold-ink", "gold"),
    ("warn-ink", "warn"),
    ("warn-ink", "paper"),
    ("ink", "accent-soft"),
    ("ink", "raised"),
)


def overflow(page):
    """Return by how many pixels a page is wider than its window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def check_contrast(browser, address, scheme):
    """Text must stand out from its ground as WCAG 2 asks for at level AA."""
    context = browser.new_context(viewport=DESKTOP, color_scheme=scheme)
    page = context.new_page()
    page.goto(address)
    names = {name for pair in TEXT_ON_GROUND for name in pair}
    colours = {
        name: page.evaluate(
            "name => getComputedStyle(document.documentElement).getPropertyValue(name)",
            f"--{name}",
        )
        for name in names
    }
    context.close()
    for text, ground in TEXT_ON_GROUND:
        assert contrast(colours[text], colours[ground]) >= 4.5, (scheme, text, ground)


def contrast(one, other):
    """Return the contrast ratio of two colours as WCAG 2 defines it."""
    darker, lighter = sorted(map(luminance, (one, other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour):
    """Return the relative luminance of a colour given as `#rrggbb`."""
    digits = colour.strip().lstrip("#")
    parts = [int(digits[i : i + 2], 16) / 255 for i in (0, 2, 4)]
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
