"""Boxes that are wider than their frames, and texts too pale for paper: no person reads them."""

from playwright.async_api import Page as Tab

# Code keeps its lines, and a field moves its text. A text that is cut with an ellipsis says all of
# itself in a title.
WIDER = r"""() => {
    const problems = [];
    const APART = "svg, pre, option, select, input, textarea";
    const name = element => element.outerHTML.slice(0, 120);
    const isSaid = element => element.closest("[title]") || element.querySelector("[title]");
    for (const element of document.querySelectorAll("body *")) {
        if (!element.checkVisibility() || element.closest(APART)) continue;
        const style = getComputedStyle(element), around = getComputedStyle(element.parentElement);
        const isApart = ["absolute", "fixed"].includes(style.position);
        if (isApart || style.display.startsWith("inline")) continue;
        const isWide = element.scrollWidth > element.clientWidth + 1;
        const isCut = style.textOverflow === "ellipsis" && isSaid(element);
        if (isWide && !isCut && element.clientWidth > 1)
            problems.push(`wider than its frame by ${element.scrollWidth - element.clientWidth} px:`
                + ` ${name(element)}`);
        if (around.display.startsWith("inline") || around.overflowX !== "visible") continue;
        const box = element.getBoundingClientRect();
        const frame = element.parentElement.getBoundingClientRect();
        if (box.width > 1 && (box.right > frame.right + 1 || box.left < frame.left - 1))
            problems.push(`stands out of its frame: ${name(element)}`);
    }
    return problems;
}"""


async def wider(tab: Tab) -> list[str]:
    """Return a sentence for each box of the page that is wider than its frame."""
    return await tab.evaluate(WIDER)


# Browsers print texts in their colours, and no backgrounds: under each text is white paper.
PALE = r"""() => {
    const light = css => {
        const [r, g, b] = css.match(/[\d.]+/g).map(Number).map(part => part / 255)
            .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const found = new Set();
    while (walk.nextNode()) {
        const element = walk.currentNode.parentElement;
        if (!walk.currentNode.data.trim() || !element.checkVisibility()) continue;
        const contrast = 1.05 / (light(getComputedStyle(element).color) + 0.05);
        if (contrast < 4.5) found.add(`too pale for paper: ${element.outerHTML.slice(0, 120)}`);
    }
    return [...found];
}"""


async def pale(tab: Tab) -> list[str]:
    """Return a sentence for each text that is hard to read on white paper."""
    return await tab.evaluate(PALE)
