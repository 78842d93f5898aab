// Elements from text, never from markup: a name from a fleet file stays text.

type Child = Node | string | null | undefined;
type Attributes = Record<string, string | number | boolean | EventListener | undefined>;

function fill(element: Element, attributes: Attributes, children: Child[]): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== undefined && value !== false) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child): child is Node | string => child != null));
}

export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  fill(element, attributes, children);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag) as SVGElement;
  fill(element, attributes, children);
  return element;
}

/** One of several choices: a row of buttons of which one is pressed; arrow keys move. */
export function choice(
  label: string,
  options: string[],
  chosen: number,
  choose: (index: number) => void,
): HTMLElement {
  const buttons = options.map((text, index) =>
    h("button", { type: "button", role: "radio", click: () => select(index) }, text),
  );
  const mark = (index: number): void => {
    buttons.forEach((button, at) => {
      button.setAttribute("aria-checked", String(at === index));
      button.tabIndex = at === index ? 0 : -1;
    });
  };
  const select = (index: number): void => {
    mark(index);
    buttons[index]?.focus({ preventScroll: true });
    choose(index);
  };
  const move = (event: Event): void => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[
      (event as KeyboardEvent).key
    ];
    if (step === undefined) return;
    event.preventDefault();
    const now = buttons.findIndex((button) => button.tabIndex === 0);
    select((now + step + buttons.length) % buttons.length);
  };
  mark(chosen);
  return h("div", { class: "choice", role: "radiogroup", "aria-label": label, keydown: move },
    ...buttons);
}

/** A folded table of a chart's numbers, for readers who cannot see or point. */
export function numbers(head: string[], rows: string[][]): HTMLElement {
  return h("details", { class: "numbers" },
    h("summary", {}, "Numbers"),
    scrolling("Numbers", h("table", {}, head_of(head),
      h("tbody", {}, ...rows.map((row) => h("tr", {},
        ...row.map((text, at) => at === 0 ? h("th", { scope: "row" }, text)
                                          : h("td", {}, text))))))));
}

export function head_of(columns: string[]): HTMLElement {
  return h("thead", {}, h("tr", {}, ...columns.map((text) => h("th", { scope: "col" }, text))));
}

/** A table that scrolls sideways where it is too wide, and shows by its edge that there is more. */
export function scrolling(label: string, table: HTMLElement): HTMLElement {
  const area = h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": label },
    table);
  const mark = (): void => {
    const left = area.scrollWidth - area.clientWidth - area.scrollLeft;
    area.classList.toggle("more", left > 1);
  };
  area.addEventListener("scroll", mark, { passive: true });
  new ResizeObserver(mark).observe(area);
  return area;
}

/** A card with a title, a line that says what is seen, and its content. */
export function card(title: string, note: string, ...content: Child[]): HTMLElement {
  return h("section", { class: "card" },
    h("header", {}, h("h2", {}, title), h("p", { class: "note" }, note)),
    ...content);
}
