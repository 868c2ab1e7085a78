// What VS Code's own test client sees of the adapter. Run by tests/integration/debugger/test_editors.py, which says when to go on.
const assert = require('node:assert');
const readline = require('node:readline');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const [scenario, given] = [process.argv[2], JSON.parse(process.argv[3])];
const input = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();

/** Tell the test that something is ready, and wait until it says so, too. */
async function meet(what) {
  console.log(what);
  assert.strictEqual((await input.next()).value, what);
}

class Session {
  constructor(client) {
    this.client = client;
    this.standing = new Map();
    this.seqs = [];
    client.on('stopped', e => {
      this.standing.set(e.body.threadId, e.body);
      this.seqs.push(e.seq);
    });
    client.on('continued', e => this.standing.delete(e.body.threadId));
  }

  /** Wait until so many ranks stand. */
  async stopped(count) {
    const until = Date.now() + 30000;
    while (this.standing.size < count) {
      assert(Date.now() < until, `only ${this.standing.size} of ${count} ranks stopped`);
      await new Promise(resolve => setTimeout(resolve, 5));
    }
    return [...this.standing.values()].sort((a, b) => a.threadId - b.threadId);
  }

  /** A step or continue; ranks run from its answer on, so that their stops come after it. */
  async move(command, args) {
    this.seqs = [];
    this.standing.clear();
    const { body, seq } = await this.client[`${command}Request`](args);
    assert(this.seqs.every(stop => stop > seq), 'a rank stopped before the answer');
    return body;
  }

  async frames(threadId) {
    return (await this.client.stackTraceRequest({ threadId })).body.stackFrames;
  }

  async lines() {
    return [(await this.frames(1001))[0].line, (await this.frames(1002))[0].line];
  }

  /** A number of each rank's cell. */
  async counts(expression) {
    const found = [];
    for (const threadId of [1001, 1002]) {
      const frameId = (await this.frames(threadId)).at(-1).id;
      const answer = await this.client.evaluateRequest({ expression, frameId, context: 'watch' });
      found.push(Number(answer.body.result));
    }
    return found;
  }

  async values(frameId) {
    const { scopes } = (await this.client.scopesRequest({ frameId })).body;
    const { variables } = (await this.client.variablesRequest(scopes[0])).body;
    return Object.fromEntries(variables.map(v => [v.name, v.value]));
  }
}

async function begin(target, breakpoints) {
  const client = new DebugClient(given.entry.debugAdapterPython, given.entry.debugAdapterPath, 'debugpy');
  client.defaultTimeout = 30000;
  await client.start();
  const session = new Session(client);
  const initialized = client.waitForEvent('initialized');
  const capabilities = (await client.initializeRequest()).body;
  assert(capabilities.supportsConditionalBreakpoints && capabilities.supportsConfigurationDoneRequest);
  await client.attachRequest({ ...given.entry, ...target });
  await initialized;
  if (breakpoints) {
    const set = (await client.setBreakpointsRequest(breakpoints)).body.breakpoints;
    assert.deepStrictEqual(set.map(b => b.verified), breakpoints.breakpoints.map(() => true));
  }
  await client.setExceptionBreakpointsRequest({ filters: [] });
  await client.configurationDoneRequest();
  return session;
}

const scenarios = {
  /** Breakpoints in a file, lockstep over a collective, values, conditions, pause; on a cluster. */
  async cluster() {
    const source = { path: given.file };
    const session = await begin({}, { source, breakpoints: [{ line: 7 }] });
    const { client } = session;
    await meet('run');
    const first = await session.stopped(2);
    assert.deepStrictEqual(first.map(s => [s.threadId, s.reason]), [[1001, 'breakpoint'], [1002, 'breakpoint']]);
    const { threads } = (await client.threadsRequest()).body;
    assert.deepStrictEqual(threads, [{ id: 1001, name: 'rank 0' }, { id: 1002, name: 'rank 1' }]);
    assert.deepStrictEqual(await session.lines(), [7, 7]);

    // over the collective: one request, all ranks, and no stop before the answer
    await session.move('next', { threadId: 1002 });
    await session.stopped(2);
    assert.strictEqual(session.seqs.length, 2);
    for (let line = 9; line <= 10; line++) {
      await session.move('next', { threadId: 1002 });
      await session.stopped(2);
      assert.deepStrictEqual(await session.lines(), [line, line]);
    }

    const [frame] = await session.frames(1002);
    assert.strictEqual(frame.source.path, given.file);
    assert.strictEqual((await session.values(frame.id)).w, '4.0');
    const value = await client.evaluateRequest({ expression: 'w + 1', frameId: frame.id, context: 'watch' });
    assert.strictEqual(value.body.result, '5.0');
    await assert.rejects(
      client.evaluateRequest({ expression: 'nothing', frameId: frame.id, context: 'repl' }),
      /name 'nothing' is not defined/
    );
    await session.move('stepOut', { threadId: 1001 });
    await session.stopped(2);
    assert.strictEqual((await session.frames(1001))[0].name, 'train');

    // only one rank, by a condition; the other waits for it in the collective
    await client.setBreakpointsRequest({ source, breakpoints: [{ line: 6, condition: 'rank == 1' }] });
    const { allThreadsContinued } = await session.move('continue', { threadId: 1001 });
    assert.strictEqual(allThreadsContinued, true);
    const waits = client.waitForEvent('output');
    const [alone] = await session.stopped(1);
    assert.deepStrictEqual([alone.threadId, alone.reason], [1002, 'breakpoint']);
    assert.match((await waits).body.output, /^Rank 0 waits in all_reduce.* for rank 1\.\n$/);
    await assert.rejects(client.nextRequest({ threadId: 1001, singleThread: true }), /Rank 0 is not paused/);
    await client.setBreakpointsRequest({ source, breakpoints: [] });
    await session.move('continue', { threadId: 1002 });
    await meet('wait');
    await client.stop();
  },

  /** Pause while ranks run a cell; its text comes from them; then its lines stop them. */
  async pause() {
    const session = await begin({}, null);
    const { client } = session;
    await meet('run');
    await client.pauseRequest({ threadId: 1001 });
    const stops = await session.stopped(2);
    // one that was in a collective is stepped to the others
    assert(stops.every(s => ['pause', 'step'].includes(s.reason)) && stops.some(s => s.reason === 'pause'));
    const frames = await session.frames(1001);
    const { source } = frames[frames.length - 1];
    assert(source.sourceReference > 0);
    const text = (await client.sourceRequest({ source, sourceReference: source.sourceReference })).body.content;
    assert.match(text, /^ended = False\nwhile not ended:/);
    const line = text.split('\n').findIndex(l => l.includes('n += 1')) + 1;
    const passes = await session.counts('n');
    // one of them may stand before the line, the other behind it: both have yet to come to this pass
    const condition = `n == ${Math.max(...passes) + 3}`;
    const set = (await client.setBreakpointsRequest({ source, breakpoints: [{ line, condition }] })).body;
    assert.deepStrictEqual(set.breakpoints.map(b => [b.verified, b.line]), [[true, line]]);
    await session.move('continue', { threadId: 1001 });
    await session.stopped(2);
    assert.deepStrictEqual(await session.lines(), [line, line]);
    for (const threadId of [1001, 1002]) {
      const [frame] = await session.frames(threadId);
      const { variables } = (
        await client.variablesRequest((await client.scopesRequest({ frameId: frame.id })).body.scopes[0])
      ).body;
      assert(variables.some(v => v.name === 'ended'));
      await client.evaluateRequest({ expression: 'globals().update(ended=True)', frameId: frame.id, context: 'repl' });
    }
    await client.stop();
  },

  /** A running job: its cells are loaded sources, files beside its notebook are mapped to the job's copy. */
  async job() {
    const session = await begin({}, null);
    const { client } = session;
    await client.pauseRequest({ threadId: 1001 });
    await session.stopped(2);
    const passes = await session.counts('i');
    // one of them may stand before the line, the other behind it: both have yet to come to this pass
    const breakpoints = [{ line: 2, condition: `x == ${Math.max(...passes) + 3}` }];
    const first = await client.setBreakpointsRequest({ source: { path: given.file }, breakpoints });
    assert.strictEqual(first.body.breakpoints[0].verified, true);
    await session.move('continue', { threadId: 1001 });
    await session.stopped(2);
    const [frame, caller] = await session.frames(1001);
    assert.deepStrictEqual([frame.source.path, frame.line], [given.file, 2]);
    assert.strictEqual(caller.source.name, 'cell [3]');
    await client.setBreakpointsRequest({ source: { path: given.file }, breakpoints: [] });
    const { sources } = (await client.customRequest('loadedSources')).body;
    assert.deepStrictEqual(sources.map(s => s.name), ['cell [1]', 'cell [2]', 'cell [3]']);
    const cell = sources[0];
    const text = (await client.sourceRequest({ source: cell, sourceReference: cell.sourceReference })).body.content;
    assert(text.includes('dist.all_reduce(y)'));
    const set = await client.setBreakpointsRequest({ source: cell, breakpoints: [{ line: 5 }] });
    assert.deepStrictEqual(set.body.breakpoints.map(b => [b.verified, b.line]), [[true, 5]]);
    await session.move('continue', { threadId: 1001 });
    await session.stopped(2);
    await session.move('next', { threadId: 1001 });
    await session.stopped(2);
    assert.deepStrictEqual(await session.lines(), [6, 6]);
    const here = await session.frames(1001);
    const y = await client.evaluateRequest({ expression: 'y.tolist()', frameId: here[0].id, context: 'watch' });
    assert.strictEqual(y.body.result, '[2.0, 2.0]');
    await client.stop();
  }
};

scenarios[scenario]().then(
  () => process.stdout.write('passed\n', () => process.exit(0)),
  error => process.stderr.write(`${error.stack}\n`, () => process.exit(1))
);
