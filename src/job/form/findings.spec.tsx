import { TranslationBundle } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { RequestError } from '../../request/rest';
import { Finding, JobPlan } from '../../tokens';
import { CheckFindings } from './findings';

/** Marks what went through it; a plural is one. */
const trans = {
  __: (text: string, ...args: unknown[]) =>
    `«${text.replace(/%(\d)/g, (_, n) => String(args[n - 1]))}»`,
  _n: (_: string, text: string, ...args: unknown[]) =>
    `«${text.replace(/%(\d)/g, (__, n) => String(args[n - 1]))}»`
} as unknown as TranslationBundle;

const finding = (severity: Finding['severity'], message: string): Finding => ({
  cell: null,
  code: 'x',
  diff: '',
  field: null,
  fix: '',
  line: null,
  message,
  parameter: null,
  severity,
  value: null
});

it("says nothing that can't be translated, in whole sentences", () => {
  const findings = [
    finding('problem', 'one'),
    finding('warning', 'two'),
    finding('warning', 'two'),
    finding('note', 'three')
  ];
  const html = renderToStaticMarkup(
    <CheckFindings
      plan={{ findings, cells: 0, modules: null } as unknown as JobPlan}
      faults={[]}
      error={null}
      busy={false}
      trans={trans}
      open={() => undefined}
      openFault={() => undefined}
      save={null}
      again={() => undefined}
      preview={null}
    />
  );
  const labels = [...html.matchAll(/aria-label="([^"]*)"/g)].map(m => m[1]);
  expect(labels).toEqual([
    '«Check»',
    '«problem»',
    '«warning»',
    '«warning»',
    '«note»'
  ]);
  expect(html).toContain('««1 problems stop this job», 2 warnings»');
});

it('names a refusal and all that is wrong beside it', () => {
  const html = renderToStaticMarkup(
    <CheckFindings
      plan={null}
      faults={[]}
      error={
        new RequestError(400, {
          code: 'bad_size',
          message: '99 ranks are too many.',
          hint: '',
          details: {
            field: 'ranks',
            also: [
              { ...finding('problem', '/nope does not exist.'), field: 'stage' }
            ]
          }
        })
      }
      busy={false}
      trans={trans}
      open={() => undefined}
      openFault={() => undefined}
      save={null}
      again={() => undefined}
      preview={null}
    />
  );
  expect(html).toContain('«2 problems stop this job»');
  expect(html).toContain('99 ranks are too many.');
  expect(html).toContain('/nope does not exist.');
});

it('marks what is still that of the previous form', () => {
  const shown = (busy: boolean): string =>
    renderToStaticMarkup(
      <CheckFindings
        plan={null}
        faults={[]}
        error={
          new RequestError(404, {
            code: 'not_found',
            message: 'There is no job "nope".',
            hint: '',
            details: { field: 'after' }
          })
        }
        busy={busy}
        trans={trans}
        open={() => undefined}
        openFault={() => undefined}
        save={null}
        again={() => undefined}
        preview={null}
      />
    );
  expect(shown(true)).toContain('«Checking…»');
  expect(shown(true)).toContain('aria-busy="true"');
  expect(shown(false)).not.toContain('Checking');
  // a refusal links to its field
  expect(shown(false)).toContain('>«Start after job»</button>');
});
