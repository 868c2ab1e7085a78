import { nullTranslator } from '@jupyterlab/translation';
import React from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';

import { Job } from '../../tokens';
import { EndCommandFailure } from './endCommand';

function said(end_command?: Job['end_command']): string {
  return renderToStaticMarkup(
    <EndCommandFailure
      job={{ end_command } as Job}
      trans={nullTranslator.load('x')}
    />
  );
}

it("shows the command for a job's end with its exit code and output, if it has failed", () => {
  const failed = said({ command: 'curl', exit_code: 6, output: 'no host' });
  expect(failed.replace(/<[^>]+>/g, '|')).toBe(
    '||The command that ran when the job ended failed with exit code 6: |curl|||no host||'
  );
  // not an alert, which would interrupt at each opening of an old job
  expect(failed).toContain('role="status"');
  expect(failed).toContain('aria-label="Last output of the command"');
  expect(said({ command: 'exit 3', exit_code: 3, output: '' })).not.toContain(
    '<pre'
  );
  expect(said({ command: 'true', exit_code: 0, output: '' })).toBe('');
  expect(said({ command: 'true', exit_code: null, output: '' })).toBe('');
  expect(said()).toBe('');
});
