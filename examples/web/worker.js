// worker.js - the model's side of the page: keeps the module, answers the page's messages, and never blocks it.
//   to here:   { load: blob }, { ask: text, seed }, { stop: true }
//   from here: { progress: { stage, fraction } }, { loaded: {...} }, { piece: text, facts }, { over: facts, stopped }, { wrong: sentence }
'use strict';

let wasm = null;                       // what the module exports
let blob = null;                       // the model's bytes
let stopping = false;
const reader = new FileReaderSync();

const page = {
  // Bytes of the model, straight into the module's memory, which may have moved since the last time. 0: the file is gone, or not what it
  // was when it was chosen. Nothing may be thrown through the module: it would be left in the middle of its work.
  read_at(offset, to, n) {
    let bytes;
    try {
      bytes = new Uint8Array(reader.readAsArrayBuffer(blob.slice(offset, offset + (n >>> 0))));
    } catch {
      return 0;
    }
    new Uint8Array(wasm.memory.buffer).set(bytes, to >>> 0);
    return bytes.length;
  },
  progress(stage, fraction) { postMessage({ progress: { stage, fraction } }); },
  now_us() { return performance.now() * 1000; },
};
const system = {
  clock_time_get(clock, precision, at) {
    new DataView(wasm.memory.buffer).setBigUint64(at >>> 0, BigInt(Math.round(performance.now() * 1e6)), true);
    return 0;
  },
};

async function start() {
  const imports = { page, wasi_snapshot_preview1: system, env: { emscripten_notify_memory_growth() {} } };
  const response = await fetch('llm.wasm');
  if (!response.ok) throw new Error('llm.wasm is not there: run `make web`.');
  const bytes = await response.arrayBuffer();
  if (!WebAssembly.validate(bytes)) throw new Error('This browser has no SIMD in WebAssembly; one from 2023 or later has.');
  wasm = (await WebAssembly.instantiate(bytes, imports)).instance.exports;
  wasm._initialize();
}

// NUL-terminated UTF-8; at is 0 where there is none.
function text(at) {
  if (!at) return '';
  const bytes = new Uint8Array(wasm.memory.buffer, at >>> 0);
  return new TextDecoder().decode(bytes.subarray(0, bytes.indexOf(0)));
}
function withText(string, use) {
  const bytes = new TextEncoder().encode(string.replaceAll('\0', ' ') + '\0');
  const at = wasm.take(bytes.length) >>> 0;
  if (!at) throw new Error('There is no memory left for this question.');
  new Uint8Array(wasm.memory.buffer).set(bytes, at);
  try { return use(at); } finally { wasm.give_back(at); }
}
function right(result) {
  if (!result) throw new Error(text(wasm.reason()));
}

function facts() {
  const tokens = wasm.tokens(), ms = wasm.decode_ms();
  return { tokens, rate: ms > 0 ? tokens / ms * 1000 : 0, first: wasm.first_ms(), memory: wasm.memory_bytes(),
           kernels: text(wasm.kernels()), sameBits: wasm.same_bits() === 1 };
}

// A message that waits is handled before this goes on. (A timer of 0 would take 4 ms of every word.)
const channel = new MessageChannel();
function breathe() {
  return new Promise(go => { channel.port1.onmessage = go; channel.port2.postMessage(0); });
}

async function load(next) {
  blob = next;
  if (!wasm) await start();
  right(wasm.load(blob.size));
  postMessage({ loaded: { name: text(wasm.name()), parameters: wasm.parameters(), bytes: blob.size, ...facts() } });
}
async function ask(question, seed) {
  stopping = false;
  withText(question, at => right(wasm.ask(at, seed)));
  for (let piece; !stopping && (piece = wasm.next()); await breathe()) postMessage({ piece: text(piece), facts: facts() });
  const why = text(wasm.reason());
  if (why) throw new Error(why);
  postMessage({ over: facts(), stopped: stopping });
}

onmessage = async ({ data }) => {
  try {
    if (data.load) await load(data.load);
    else if (data.ask !== undefined) await ask(data.ask, data.seed);
    else stopping = true;
  } catch (error) {
    postMessage({ wrong: error.message });
  }
};
