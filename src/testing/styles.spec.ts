import { readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import stylelint from 'stylelint';
import { expect, it } from 'vitest';

/** What stylelint says of a sheet of this project with this text. */
async function warningsOf(sheet: string, code: string): Promise<string[]> {
  const { results } = await stylelint.lint({
    code,
    codeFilename: resolve('style', sheet),
    configFile: resolve('stylelint.config.mjs')
  });
  return results[0].warnings.map(w => `${w.rule}: ${w.text}`);
}

const BODY = '{ color: red; }';

it.each([
  ['.jp-DtrainJob-row, .jp-DtrainJob-cell'],
  // commas in brackets and in texts end no selector
  ['.jp-DtrainJob-row:is(.x, .y), .jp-DtrainJob-cell'],
  ['.jp-DtrainJob-row[title="a, b"]']
])('lets selectors of the sheet pass: %s', async selector => {
  expect(await warningsOf('job.css', `${selector} ${BODY}`)).toEqual([]);
});

it.each([
  ['.jp-DtrainRanks-row'],
  ['.jp-DtrainJob-row, .jp-DtrainRanks-row'],
  ['.jp-DtrainJob-row:is(.x, .y), button'],
  // a longer name of another part
  ['.jp-DtrainJobs-row']
])('finds a selector of another sheet: %s', async selector => {
  const found = await warningsOf('job.css', `${selector} ${BODY}`);
  expect(found).toHaveLength(1);
  expect(found[0]).toContain('selector-disallowed-list');
});

it('leaves the steps of an animation alone', async () => {
  const steps = '0%, 50% { opacity: 1; } from, to { opacity: 0; }';
  const code = `@keyframes jp-DtrainJob-beat { ${steps} }`;
  expect(await warningsOf('job.css', code)).toEqual([]);
});

it('has no space that ends an escape in a text: it would not be shown', () => {
  const lost = readdirSync('style')
    .filter(name => name.endsWith('.css'))
    .filter(name =>
      /content: '[^']*\\[0-9a-f]{1,6} '/i.test(
        readFileSync(resolve('style', name), 'utf8')
      )
    );
  expect(lost).toEqual([]);
});
