// web_reader.js WEB: the worker of the page without a browser, and a file that is gone while it is read: a sentence, and the next one
// opens. Exits with 0 if that holds.
'use strict';
const fs = require('fs'), vm = require('vm'), web = process.argv[2];
const said = [], gone = { from: Infinity };
let heard;

class Blob {
  constructor(bytes, at = 0) { this.bytes = bytes; this.at = at; this.size = bytes.length; }
  slice(begin, end) { return new Blob(this.bytes.subarray(begin, end), begin); }
}
class FileReaderSync {
  readAsArrayBuffer(part) {
    if (part.at + part.size > gone.from) throw new Error('NotReadableError');
    return part.bytes.buffer.slice(part.bytes.byteOffset, part.bytes.byteOffset + part.bytes.length);
  }
}
const context = vm.createContext({
  FileReaderSync, WebAssembly, Uint8Array, DataView, TextDecoder, TextEncoder, MessageChannel, performance, BigInt, onmessage: null,
  postMessage(data) { said.push(data); if (!('progress' in data) && heard) heard(data); },
  fetch: async () => ({ ok: true, arrayBuffer: async () => fs.readFileSync(`${web}/llm.wasm`) }),
});
vm.runInContext(fs.readFileSync(`${web}/worker.js`, 'utf8'), context);
const tell = data => new Promise(go => { heard = answer => { if (!('piece' in answer)) go(answer); }; context.onmessage({ data }); });

(async () => {
  const model = new Blob(fs.readFileSync(`${web}/tiny.gguf`));
  for (const from of [0, 1000, 300000, 1400000]) {
    gone.from = from;
    const refused = await tell({ load: model });
    if (!refused.wrong || !/ /.test(refused.wrong) || /memory|function/.test(refused.wrong)) throw new Error(JSON.stringify(refused));
    console.log(`from byte ${from} on: ${refused.wrong}`);
    gone.from = Infinity;
    if (!(await tell({ load: model })).loaded) throw new Error('the next file was not opened');
    const over = await tell({ ask: 'Tell me a story about a fox.', seed: 7 });
    if (!over.over || !(over.over.tokens > 20)) throw new Error(JSON.stringify(over));
  }
  process.exit(0);
})().catch(error => { console.log(String(error)); process.exit(1); });
