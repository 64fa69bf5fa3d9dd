// web_page.js - opens the page of examples/web in a headless Chromium and uses it as a visitor would, over the browser's own protocol
// (DevTools, through a pipe: no packages). Called by tests/test_web.sh.
//
//     node tests/web_page.js WEB_DIR SCREENSHOT STORY MODEL BROKEN
//       STORY: what the desktop's program tells for the same question and seed; MODEL, BROKEN: files for the picker, good and bad
// Prints `ok what` or `failed: what` for each check, and what was measured.
'use strict';
const { spawn } = require('child_process'), fs = require('fs'), http = require('http'), os = require('os'), path = require('path');
const [web, screenshot, storyFile, model, broken] = process.argv.slice(2);
const story = fs.readFileSync(storyFile, 'utf8').trimEnd();
const types = { '.html': 'text/html', '.css': 'text/css', '.js': 'text/javascript', '.wasm': 'application/wasm' };
const patience = 60000;                // for a busy machine

let failed = 0;
function check(what, holds, seen) {
  if (!holds) failed++;
  console.log(holds ? `ok ${what}` : `failed: ${what}${seen === undefined ? '' : `: ${JSON.stringify(seen)}`}`);
}

function serve() {
  const server = http.createServer((request, response) => {
    const file = path.join(web, path.normalize(request.url === '/' ? '/index.html' : request.url));
    fs.readFile(file, (error, bytes) => {
      response.writeHead(error ? 404 : 200, { 'content-type': types[path.extname(file)] || 'application/octet-stream' });
      response.end(bytes);
    });
  });
  return new Promise(ready => server.listen(0, '127.0.0.1', () => ready(server)));
}

// The browser takes messages on its file 3 and gives answers and events on its file 4, each ended by a NUL.
function browse(profile) {
  const args = ['--headless=new', '--remote-debugging-pipe', `--user-data-dir=${profile}`, '--no-sandbox', '--disable-gpu',
                '--disable-dev-shm-usage', '--disable-background-networking', '--disable-component-update', '--no-first-run',
                '--hide-scrollbars', 'about:blank'];
  const browser = spawn(process.env.CHROMIUM || 'chromium', args, { stdio: ['ignore', 'ignore', 'ignore', 'pipe', 'pipe'] });
  const waiting = new Map();
  let last = 0, rest = '';
  browser.stdio[4].setEncoding('utf8');
  browser.stdio[4].on('data', data => {
    const parts = (rest + data).split('\0');
    rest = parts.pop();
    for (const part of parts) {
      const { id, result, error, method, params } = JSON.parse(part);
      if (method === 'Runtime.exceptionThrown') check('no exception in the page', false, params.exceptionDetails.text);
      if (!waiting.has(id)) continue;
      const { resolve, reject } = waiting.get(id);
      waiting.delete(id);
      if (error) reject(new Error(error.message)); else resolve(result);
    }
  });
  browser.call = (method, params = {}, sessionId) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    browser.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + '\0');
  });
  return browser;
}

async function visit(browser, url) {
  const { targetId } = await browser.call('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await browser.call('Target.attachToTarget', { targetId, flatten: true });
  const call = (method, params) => browser.call(method, params, sessionId);
  await call('Runtime.enable');
  await call('Page.enable');
  await call('DOM.enable');
  const run = async expression => {
    const { result, exceptionDetails } = await call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true });
    if (exceptionDetails) throw new Error(`${expression}: ${exceptionDetails.text}`);
    return result.value;
  };
  const until = async (what, expression) => {
    for (const end = Date.now() + patience; !await run(expression); await new Promise(go => setTimeout(go, 50)))
      if (Date.now() > end) throw new Error(`waited in vain: ${what}; status: ${await run('$("status").textContent')}`);
  };
  const size = (width, height, mobile) =>
    call('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: mobile ? 2 : 1, mobile });
  const key = async (name, code, text) => {
    await call('Input.dispatchKeyEvent', { type: 'keyDown', key: name, code: name, windowsVirtualKeyCode: code, text });
    await call('Input.dispatchKeyEvent', { type: 'keyUp', key: name, code: name, windowsVirtualKeyCode: code });
  };
  const picture = async file => {
    const { data } = await call('Page.captureScreenshot', { captureBeyondViewport: true });
    fs.writeFileSync(file, Buffer.from(data, 'base64'));
  };
  const pick = async file => {
    const { root } = await call('DOM.getDocument');
    const { nodeId } = await call('DOM.querySelector', { nodeId: root.nodeId, selector: '#file' });
    await call('DOM.setFileInputFiles', { files: [path.resolve(file)], nodeId });
  };
  await size(1100, 900, false);
  await call('Page.navigate', { url });
  return { call, run, until, size, key, picture, pick };
}

const status = '$("status").textContent', told = '$("story").textContent';
const over = '/^The end/.test($("status").textContent)', ready = '/^Ready/.test($("status").textContent)';

async function tellsTheDesktopsStory(page) {
  await page.until('the model to load', 'typeof $ === "function" && ' + ready);
  await page.run('$("question").focus(), $("question").select()');
  await page.call('Input.insertText', { text: process.env.QUESTION });
  await page.run(`$("seed").value = ${process.env.SEED}; var ticks = 0, pieces = 0; setInterval(() => ticks++, 5);
                  new MutationObserver(() => pieces++).observe($("story"), { childList: true }); ticks = 0`);
  await page.key('Enter', 13, '\r');
  await page.until('the story', over);
  check('Enter tells the story that the desktop tells', await page.run(told) === story, await page.run(told));
  check('it comes in pieces', await page.run('pieces') > 20, await page.run('pieces'));
  check('the page lives while it is told', await page.run('ticks') > 5, await page.run('ticks'));
  check('the kernels in use are named', await page.run('$("kernels").textContent') === 'WASM SIMD128');
  check('so is the speed', /^[0-9.]+ tokens\/s$/.test(await page.run('$("speed").textContent')));
  check('the promise of bits holds', /same as on every other machine/.test(await page.run(status)), await page.run(status));
  console.log(`seen: ${await page.run('$("speed").textContent')}, first word ${await page.run('$("first").textContent')}`);
}
async function stopsWhenAsked(page) {
  await page.run('$("tell").click()');
  await page.until('a few words', told + '.length > 20 || ' + over);
  const label = await page.run('$("tell").textContent');
  await page.run(`$("tell").textContent === 'Stop' && $("tell").click()`);
  await page.until('the stop', '$("tell").textContent === "Tell"');
  const part = await page.run(told);
  check('Stop stops, and what was told stays',
        label === 'Stop' && part.length > 0 && part.length < story.length && story.startsWith(part), part);
  await page.run('$("tell").click()');
  await page.until('the whole story', over);
  check('after that the story is told as before', await page.run(told) === story, await page.run(told));
}
async function seedsMatter(page) {
  await page.run(`$("seed").value = 12345; $("tell").click()`);
  await page.until('another story', over);
  check('another seed tells another story', await page.run(told) !== story);
  await page.run(`$("seed").value = ${process.env.SEED}`);
}
async function isSpoken(page) {
  const { nodes } = await page.call('Accessibility.getFullAXTree');
  const has = (role, name) => nodes.some(n => n.role && n.role.value === role && n.name && n.name.value.startsWith(name));
  check('the question has a name', has('textbox', 'Ask for a story'));
  check('so have the button, the seed, the picker and the story',
        has('button', 'Tell') && has('spinbutton', 'Seed') && has('article', 'The story') &&
        nodes.some(n => n.name && n.name.value.startsWith('Open a model')));
  const order = [];
  await page.run('$("question").focus()');
  for (let i = 0; i < 6; i++) {
    await page.key('Tab', 9);
    order.push(await page.run('document.activeElement.id || document.activeElement.textContent'));
  }
  check('the keyboard reaches all of it', order[0] === 'tell' && order.includes('seed') && order.includes('file'), order);
}
async function fits(page) {
  const width = await page.run('document.documentElement.scrollWidth');
  check('at a phone\'s width nothing sticks out', width <= 390, width);
}
async function opensFiles(page) {
  await page.pick(broken);
  await page.until('the refusal', '$("status").classList.contains("wrong")');
  const sentence = await page.run(status);
  check('a broken file is refused with a sentence', sentence.length > 10 && await page.run('$("tell").disabled'), sentence);
  console.log(`seen: ${sentence}`);
  await page.pick(model);
  await page.until('the visitor\'s model', ready);
  await page.run('$("tell").click()');
  await page.until('its story', over);
  check('a model of the visitor\'s own answers', await page.run(told) === story, await page.run(told));
}

async function main() {
  const profile = fs.mkdtempSync(path.join(os.tmpdir(), 'llm-web-'));
  const server = await serve(), browser = browse(profile);
  const gone = new Promise((_, reject) => browser.on('exit', code => reject(new Error(`the browser ended with code ${code}`))));
  gone.catch(() => {});
  const use = async () => {
    const page = await visit(browser, `http://127.0.0.1:${server.address().port}/`);
    await tellsTheDesktopsStory(page);
    await page.picture(screenshot);
    await page.size(390, 844, true);
    await fits(page);
    await page.picture(screenshot.replace('.png', '-phone.png'));
    await page.size(1100, 900, false);
    await stopsWhenAsked(page);
    await seedsMatter(page);
    await isSpoken(page);
    await opensFiles(page);
  };
  try { await Promise.race([use(), gone]); } catch (error) { check(error.message, false); }
  server.close();
  await Promise.race([browser.call('Browser.close'), gone]).catch(() => {});
  await gone.catch(() => {});
  fs.rmSync(profile, { recursive: true, force: true, maxRetries: 5 });
  process.exit(failed ? 1 : 0);
}
main();
