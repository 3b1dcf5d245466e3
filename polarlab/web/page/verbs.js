// Verbs of the fabric as buttons and forms, built from the declarations in the fabric's description.

import {ask} from "./api.js";
import {element, make, rounded} from "./text.js";

const MAX_SHOWN = 2000; // limit of characters of an answer that has no panel

/** All verbs that the fabric declares. */
export class Verbs {
  /** `attempt(act)` runs an action and shows the error if the fabric refuses it. */
  constructor(attempt) {
    this.attempt = attempt;
    this.answers = {}; // name of a verb -> function that handles its answer
    this.forms = [];
    this.states = new Set();
  }

  show(fabric) {
    this.fabric = fabric;
    const more = this.declared("more");
    element("more").hidden = !more.length;
    element("more-forms").replaceChildren(...more.map(({verb}) => make("form", "", [], {id: `more-${verb.name}-form`})));
    const places = [...document.querySelectorAll("form[data-verbs]")].map((place) => [place, this.declared(place.dataset.verbs)]);
    for (const one of more) places.push([element(`more-${one.verb.name}-form`), [one]]);
    this.forms = places.map(([place, declared]) => new Form(this, place, declared));
    const controller = this.offered("controller", new Set());
    element("controller-actions").replaceChildren(...controller.map((one) => this.button(one, "")));
  }

  /** Updates the forms for a state. */
  update(state) {
    this.states = new Set(state.traffic ? ["traffic"] : []);
    for (const form of this.forms) form.update();
  }

  /** Returns the buttons of a part of the page, each with its verb. */
  declared(part) {
    return this.fabric.verbs.flatMap((verb) => verb.buttons.filter((one) => one.on === part).map((button) => ({verb, button})));
  }

  /** Returns the buttons of a part of the page that are shown in given states. */
  offered(part, states) { return this.declared(part).filter(({button}) => fits(button, states)); }

  allows(verb) { return this.fabric.actions.includes(verb.name); }

  /** Returns a button that runs a verb for the link or switch with a name. */
  button({verb, button}, name) {
    const node = make("button", button.label, [], {type: "button", title: verb.help});
    node.disabled = !this.allows(verb);
    node.addEventListener("click", () => this.attempt(() => this.ask(verb, given(button, name))));
    return node;
  }

  /** Requests a verb from the fabric and returns the answer. */
  async ask(verb, values) {
    const rest = {...values};
    const path = verb.path.slice(1).replace(/\{(\w+)\}/g, (_, name) => {
      const value = encodeURIComponent(rest[name]);
      delete rest[name];
      return value;
    });
    const answer = verb.method === "GET" ? await ask("GET", `${path}?${new URLSearchParams(rest)}`)
      : await ask(verb.method, path, verb.method === "POST" ? rest : undefined);
    await this.answers[verb.name]?.(answer);
    return answer;
  }
}

/** Returns the arguments that a button sets, with a name instead of `{}`. */
const given = (button, name) => Object.fromEntries(Object.entries(button.gives).map(([key, text]) => [key, text.replace("{}", name)]));

const fits = (button, states) => (!button.when.length || button.when.some((one) => states.has(one)))
  && !button.unless.some((one) => states.has(one));

/** A form for several verbs, which share fields with the same name. */
class Form {
  constructor(verbs, place, declared) {
    Object.assign(this, {verbs, place, fields: new Map(), buttons: [], busy: null});
    place.noValidate = true; // each button checks its own fields
    place.replaceChildren();
    for (const {verb, button} of declared) {
      const needs = verb.fields.filter((field) => !(field.name in button.gives));
      for (const field of needs) this.add(field);
      const node = make("button", button.label, [], {type: this.buttons.length ? "button" : "submit", title: verb.help});
      const one = {verb, button, needs, node};
      node.addEventListener("click", (event) => {
        event.preventDefault();
        verbs.attempt(() => this.do(one));
      });
      place.append(node);
      this.buttons.push(one);
    }
    if (!place.dataset.verbs) place.append(this.output = make("output"));
    place.hidden = "allowed" in place.dataset && !declared.some(({verb}) => verbs.allows(verb));
    place.addEventListener("change", () => this.update(), true);
    this.update();
  }

  /** Adds the field of an argument; if there is a field with this name, only adds the choices to it. */
  add(declared) {
    let field = this.fields.get(declared.name);
    if (!field) {
      const id = `${this.place.id.replace(/-form$/, "")}-${declared.name.replaceAll("_", "-")}`;
      field = declared.choices === "parameters" ? parametersField(id, this.verbs.fabric)
        : oneField(declared, id, this.verbs.fabric);
      this.fields.set(declared.name, field);
      this.place.append(field.shown);
    }
    field.offer(declared);
  }

  /** Shows the buttons that fit the current choices, and the fields that they need. */
  update() {
    const needed = new Set();
    for (const one of this.buttons) {
      const {verb, button, needs, node} = one;
      node.hidden = needs.some((field) => !this.fields.get(field.name).offers(field));
      node.disabled = !this.verbs.allows(verb) || !fits(button, this.verbs.states) || this.busy === one;
      node.textContent = this.busy === one ? `${button.label} …` : button.label;
      if (!node.hidden) for (const field of needs) needed.add(field.name);
    }
    for (const [name, field] of this.fields) field.shown.hidden = !needed.has(name);
  }

  async do(one) {
    const fields = one.needs.map(({name}) => [name, this.fields.get(name)]);
    if (!fields.every(([, field]) => field.check())) return;
    const values = Object.fromEntries(fields.map(([name, field]) => [name, field.value]).filter(([, value]) => value !== ""));
    this.busy = one;
    this.update();
    try {
      const answer = await this.verbs.ask(one.verb, {...given(one.button, launched(this.verbs.fabric)), ...values});
      if (this.output) this.output.textContent = JSON.stringify(answer).slice(0, MAX_SHOWN);
    } finally {
      this.busy = null;
      this.update();
    }
  }
}

/** Returns the field of an argument: a choice among the fabric's values, a number, or a text. */
function oneField(declared, id, fabric) {
  const number = declared.type === "number" || declared.type === "integer";
  const chosen = Array.isArray(fabric[declared.choices]);
  const attributes = {id, title: declared.description || ""};
  if (number) {
    Object.assign(attributes, {type: "number", step: declared.type === "integer" ? 1 : declared.step || "any"});
    const above = declared.exclusiveMinimum === undefined ? undefined : declared.exclusiveMinimum + declared.step;
    for (const [name, bound] of [["min", declared.minimum ?? above], ["max", declared.maximum]]) {
      if (bound !== undefined) attributes[name] = bound;
    }
  } else if (!chosen) {
    Object.assign(attributes, {size: declared.size, autocomplete: "off"}, declared.choices ? {list: declared.choices} : {});
  }
  const input = make(chosen ? "select" : "input", "", [], attributes);
  input.required = declared.required;
  input.value = declared.value ?? "";
  const offered = new Set();
  return {
    shown: make("label", `${declared.label} `, [input]),
    get value() { return number && input.value !== "" ? Number(input.value) : input.value.trim(); },
    check: () => input.reportValidity(),
    offer({choices, value}) {
      if (!chosen || offered.has(choices)) return;
      offered.add(choices);
      const now = input.value || value;
      input.append(make("optgroup", "", fabric[choices].map((name) => make("option", name)), {label: choices}));
      input.value = now;
    },
    offers: ({choices}) => !chosen || fabric[choices].includes(input.value),
  };
}

/** Returns fields for the parameters of the routing; their value is one text with the changed parameters. */
function parametersField(id, fabric) {
  const shown = make("div", "", fabric.parameters.flatMap((one) => {
    const named = {id: `routing-${one.name}`, "data-name": one.name};
    const field = one.choices.length ? make("select", "", one.choices.map((choice) => make("option", choice)), named)
      : make("input", "", [], {...named, type: "number", step: one.whole ? "1" : "any"});
    field.value = field.dataset.present = one.choices.length ? one.value : rounded(one.value);
    for (const [name, bound] of [["min", one.least ?? one.above], ["max", one.most]]) {
      if (bound !== null) field.setAttribute(name, bound);
    }
    return [make("label", one.name, [], {for: field.id, title: one.help}), field];
  }), {id, class: "parameters"});
  const fields = [...shown.querySelectorAll("input, select")];
  // Unchanged parameters are not sent: they are shown rounded, so sending them would change them.
  const kept = ({value, dataset, type}) => type === "number" ? rounded(value) === rounded(dataset.present) : value === dataset.present;
  const changed = () => fields.filter((field) => !kept(field));
  return {
    shown,
    get value() { return changed().map((field) => `${field.dataset.name}=${field.value}`).join(","); },
    check: () => changed().length > 0 && changed().every((field) => field.reportValidity()),
    offer: () => {},
    offers: () => true,
  };
}

/** Returns the initial parameters of the routing as one text. */
const launched = (fabric) => fabric.parameters.map((one) => `${one.name}=${one.value}`).join(",");
