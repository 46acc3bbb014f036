// SPDX-License-Identifier: GPL-2.0-or-later
// Elements from code. Names come from processes and are hostile: every text goes in as a text node, nothing is ever
// parsed as markup (and the page's Trusted Types policy forbids it).

export type Child = Node | string | number | null | undefined | false;

export interface Properties {
    class?: string;
    title?: string;
    attributes?: Record<string, string | number | boolean | null | undefined>;
    style?: Record<string, string>;
    on?: { [event: string]: (event: never) => void };
}

export function append(parent: Element, ...children: Child[]): void {
    for (const child of children) {
        if (child === null || child === undefined || child === false) continue;
        parent.append(child instanceof Node ? child : String(child));
    }
}

function apply(element: HTMLElement | SVGElement, properties: Properties): void {
    if (properties.class) element.setAttribute('class', properties.class);
    if (properties.title) element.setAttribute('title', properties.title);
    for (const [name, value] of Object.entries(properties.attributes ?? {})) {
        if (value === null || value === undefined || value === false) continue;
        element.setAttribute(name, value === true ? '' : String(value));
    }
    for (const [name, value] of Object.entries(properties.style ?? {})) element.style.setProperty(name, value);
    for (const [event, listener] of Object.entries(properties.on ?? {})) {
        element.addEventListener(event, listener as EventListener);
    }
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    properties: Properties = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    apply(element, properties);
    append(element, ...children);
    return element;
}

export function svg(tag: string, attributes: Record<string, string | number>, ...children: Child[]): SVGElement {
    const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
    apply(element, { attributes });
    append(element, ...children);
    return element;
}

export function replace(parent: Element, ...children: Child[]): void {
    parent.replaceChildren();
    append(parent, ...children);
}

export async function copyText(text: string, button: HTMLButtonElement): Promise<void> {
    const label = button.textContent ?? '';
    try {
        await navigator.clipboard.writeText(text);
        button.textContent = 'copied';
    } catch {
        button.textContent = 'not copied: select the text';
    }
    setTimeout(() => (button.textContent = label), 1500);
}

export function saveFile(name: string, type: string, content: BlobPart): void {
    const url = URL.createObjectURL(new Blob([content], { type }));
    const link = h('a', { attributes: { href: url, download: name } });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(url), 10000);
}
