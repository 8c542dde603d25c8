// Runs hopflow's Python in Pyodide, off the page's thread. Messages: {id, fragment, packages} in, {id, answer | failure | state} out.
"use strict";

let python = null; // a promise of the interpreter
let loaded = new Set();
let base = "";

async function started(pyodide) {
  importScripts(pyodide + "pyodide.js");
  const found = await loadPyodide({ indexURL: pyodide });
  const zip = await fetch(base + "hopflow.zip");
  if (!zip.ok) throw new Error("hopflow.zip: " + zip.status);
  found.unpackArchive(await zip.arrayBuffer(), "zip", { extractDir: "/hopflow" });
  found.runPython("import sys; sys.path.insert(0, '/hopflow')");
  return found;
}

async function answered({ pyodide, packages, fragment, id }) {
  if (!python) {
    postMessage({ id, state: "Loading Python ..." });
    python = started(pyodide);
  }
  const interpreter = await python;
  const missing = packages.filter((name) => !loaded.has(name));
  if (missing.length) {
    postMessage({ id, state: "Loading " + missing.join(" and ") + " ..." });
    await interpreter.loadPackage(missing);
    missing.forEach((name) => loaded.add(name));
  }
  postMessage({ id, state: "Calculating ..." });
  interpreter.globals.set("fragment", fragment);
  return interpreter.runPython("from validation.explore.calculators import answer\nanswer(fragment)");
}

let queue = Promise.resolve();

onmessage = ({ data }) => {
  base = data.base;
  queue = queue.then(() => answered(data)).then(
    (answer) => postMessage({ id: data.id, answer }),
    (failure) => postMessage({ id: data.id, failure: String(failure) }),
  );
};
