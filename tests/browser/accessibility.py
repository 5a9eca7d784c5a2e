"""Barriers on a page: violations of axe's rules (WCAG 2.2 AA), and flaws of its structure."""

from pathlib import Path

from playwright.async_api import BrowserContext
from playwright.async_api import Page as Tab

AXE = (Path(__file__).parent / "vendor" / "axe-core" / "axe.min.js").read_text()
RUN_AXE = """async () => {
    const found = await axe.run(document, {
        runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
        resultTypes: ["violations"],
        // Not of styles: axe would write them anew into the page, against the policy.
        preload: { assets: ["media"] },
    });
    return found.violations.flatMap(rule => rule.nodes.map(node =>
        `axe ${rule.id}: ${rule.help}: ${node.html.slice(0, 200)}`));
}"""
# Also without scripts, where axe, which waits for timers, never comes to an end.
STRUCTURE = r"""() => {
    const all = selector => [...document.querySelectorAll(selector)];
    const problems = [];
    const demand = (holds, problem) => holds || problems.push(problem);
    const text = element => (element.innerText || element.ariaLabel || element.title || "").trim();

    demand(document.documentElement.lang, "no language");
    demand(document.title.trim(), "no title");
    demand(all("main").length === 1, "not one main landmark");
    demand(all("h1").length === 1, "not one h1");
    const ids = all("[id]").map(element => element.id);
    demand(new Set(ids).size === ids.length, "an id that is there twice");
    for (const control of all("input:not([type=hidden],[type=submit]), select, textarea"))
        demand(control.labels.length || control.ariaLabel || control.ariaLabelledByElements,
            `no label: ${control.outerHTML}`);
    // Not in what is folded away, which shows no text.
    for (const target of all("a[href], button").filter(element => element.checkVisibility()))
        demand(text(target), `no name: ${target.outerHTML}`);
    for (const image of all("img:not([alt])")) problems.push(`no alt: ${image.outerHTML}`);

    const rgb = css => {
        const [r, g, b, a = 1] = css.match(/[\d.]+(?:e-?\d+)?/g).map(Number);
        return css.startsWith("color(") ? [r * 255, g * 255, b * 255, a] : [r, g, b, a];
    };
    const over = ([r, g, b, a], below) =>
        [r, g, b].map((part, index) => part * a + below[index] * (1 - a));
    const behind = element => {
        if (!element) return [255, 255, 255];
        const colour = rgb(getComputedStyle(element).backgroundColor);
        return colour[3] === 1 ? colour : over(colour, behind(element.parentElement));
    };
    const light = colour => {
        const [r, g, b] = colour.map(part => part / 255)
            .map(part => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const contrast = (one, other) => {
        const [more, less] = [light(one), light(other)].sort((a, b) => b - a);
        return (more + 0.05) / (less + 0.05);
    };
    // Those that the browser draws itself are the browser's; a button is known by its words.
    const isOurs = element => getComputedStyle(element).appearance === "none";
    const drawn = all("input:not([type=hidden],[type=submit]), select, textarea").filter(
        element => element.matches(":enabled"))
        .filter(element => element.checkVisibility() && isOurs(element));
    for (const control of drawn) {
        const { borderBottomColor, backgroundColor } = getComputedStyle(control);
        const around = behind(control.parentElement);
        const parts = [borderBottomColor, backgroundColor].map(css => over(rgb(css), around));
        demand(Math.max(...parts.map(part => contrast(part, around))) >= 3,
            `no edge to be seen: ${control.outerHTML.slice(0, 200)}`);
    }
    for (const cell of all("td, th").filter(element => element.checkVisibility()))
        demand(cell.scrollWidth <= cell.clientWidth + 1, `runs out of its cell: ${text(cell)}`);
    const { scrollWidth, clientWidth } = document.documentElement;
    demand(scrollWidth <= clientWidth, `scrolls sideways: ${scrollWidth} in ${clientWidth} px`);
    return problems;
}"""


async def structure(tab: Tab) -> list[str]:
    """Return a sentence for each fault in the structure of what is shown now."""
    return await tab.evaluate(STRUCTURE)


async def provide_axe(context: BrowserContext) -> None:
    """Let every page of the context have axe: sent to each page anew, it takes twice as long."""
    await context.add_init_script(AXE)


async def axe(tab: Tab) -> list[str]:
    """Return a sentence for each element that breaks one of axe's rules.

    Needs scripts, and `provide_axe` before the page was loaded.
    """
    return await tab.evaluate(RUN_AXE)
