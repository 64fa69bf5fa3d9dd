// page.js - the visitor's side: a question goes to the worker, pieces of the story come back.
'use strict';

const $ = id => document.getElementById(id);
const worker = new Worker('worker.js');
let loaded = false, telling = false;

function say(sentence, wrong = false) {
  $('status').textContent = sentence;
  $('status').classList.toggle('wrong', wrong);
}
function show() {
  $('tell').textContent = telling ? 'Stop' : 'Tell';
  $('tell').classList.toggle('stop', telling);
  $('tell').disabled = !loaded;
  for (const idea of document.querySelectorAll('.ideas button')) idea.disabled = !loaded || telling;
  $('file').disabled = telling;
  $('story').classList.toggle('telling', telling);
  $('story').setAttribute('aria-busy', telling);       // read out when it is whole, not word by word
}
function size(bytes) { return bytes < 1e9 ? (bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0) + ' MB' : (bytes / 1e9).toFixed(1) + ' GB'; }
function showFacts(facts) {
  $('speed').textContent = facts.rate ? `${facts.rate.toFixed(facts.rate < 10 ? 1 : 0)} tokens/s` : '–';
  $('first').textContent = facts.first ? `${facts.first.toFixed(0)} ms` : '–';
  $('kernels').textContent = facts.kernels;
  $('memory').textContent = size(facts.memory);
}

function tell() {
  if (!loaded || telling) return;
  telling = true;
  $('story').textContent = '';
  say('');
  show();
  worker.postMessage({ ask: $('question').value, seed: Number($('seed').value) || 0 });
}
function load(blob, name) {
  loaded = false;
  $('model').textContent = name;
  say('Loading the model…');
  show();
  worker.postMessage({ load: blob });
}

const from = {
  progress({ stage, fraction }) {
    say(`${stage ? 'Reading the question' : 'Loading the model'}… ${Math.round(fraction * 100)} %`);
  },
  loaded(model) {
    loaded = true;
    $('model').textContent = `${model.name || $('model').textContent}, ${size(model.bytes)}`;
    say(`Ready: ${(model.parameters / 1e6).toFixed(1)} million weights.`);
    showFacts(model);
    show();
  },
  piece(piece, { facts }) {
    if (!$('story').textContent) { piece = piece.trimStart(); say('Telling…'); }
    $('story').append(piece);
    showFacts(facts);
  },
  over(facts, { stopped }) {
    telling = false;
    showFacts(facts);
    say(`${stopped ? 'Stopped' : 'The end'}: ${facts.tokens} tokens` +
        (facts.sameBits ? ', the same as on every other machine.' : '.'));
    show();
  },
  wrong(sentence) {
    telling = false;
    say(sentence, true);
    show();
  },
};
worker.onmessage = ({ data }) => { for (const kind in from) if (kind in data) return from[kind](data[kind], data); };
worker.onerror = () => from.wrong('The page could not start its worker.');

$('form').addEventListener('submit', event => {
  event.preventDefault();
  if (telling) worker.postMessage({ stop: true });
  else tell();
});
for (const idea of document.querySelectorAll('.ideas button'))
  idea.addEventListener('click', () => { $('question').value = `Tell me a story about ${idea.textContent}.`; tell(); });
$('file').addEventListener('change', () => { const file = $('file').files[0]; if (file) load(file, file.name); });

async function begin() {
  try {
    const response = await fetch('tiny.gguf');
    if (!response.ok) throw new Error();
    load(await response.blob(), 'Tiny Storyteller');
  } catch {
    from.wrong(location.protocol === 'file:' ? 'A page may read its model only over http: python3 -m http.server -d build/web'
                                             : 'tiny.gguf is not there: run `make web`.');
  }
}
begin();
