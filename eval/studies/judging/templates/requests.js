"use strict";

// What the page asks the server for, and what it tells; `page` says whether it is busy.

const at = id => document.getElementById(id);

async function ask(path, given) {
  const options = given === undefined ? {} : {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(given),
    keepalive: true,
  };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("Not saved: the server has ended. Start it again, and open the new address.");
  }
  const found = await answer.json();
  if (!answer.ok) throw new Error(found.error);
  return found;
}

// One thing at a time: a key pressed while a pair is on its way must not judge what nobody has read.
async function act(deed) {
  if (page.busy) return;
  page.busy = true;
  try {
    await deed();
    at("alert").hidden = true;
  } catch (error) {
    at("alert").textContent = error.message;
    at("alert").hidden = false;
  } finally {
    page.busy = false;
  }
}

function tell(text) { at("told").textContent = text; }

function add(parent, name, text) {
  const made = parent.appendChild(document.createElement(name));
  made.textContent = text;
  return made;
}
