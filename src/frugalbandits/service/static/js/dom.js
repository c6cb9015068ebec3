// Elements, made and changed. Data goes in as text, never as markup.

export const byId = (id) => document.getElementById(id);

/** Make an element; `on...` are listeners, `data` is a set of data attributes, other names are attributes. */
export function make(tag, given = {}, ...inside) {
  const found = document.createElement(tag);
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === false) continue;
    if (name.startsWith("on")) found.addEventListener(name.slice(2), value);
    else if (name === "data") Object.assign(found.dataset, value);
    else found.setAttribute(name, value === true ? "" : value);
  }
  found.append(...inside);
  return found;
}

/** Set a text only where it differs, so that a selection in it is kept. */
export function say(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function show(element, visible = true) {
  element.hidden = !visible;
}

/** Keep children in an order and move only those that must, so that the focus stays where it is. */
export function arrange(parent, wanted) {
  wanted.forEach((child, place) => {
    if (parent.children[place] !== child) parent.insertBefore(child, parent.children[place] ?? null);
  });
  while (parent.children.length > wanted.length) parent.lastElementChild.remove();
}
