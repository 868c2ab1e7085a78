import { readdirSync } from 'node:fs';

import jupyter from '@jupyter/eslint-plugin';
import typescript from '@typescript-eslint/eslint-plugin';
import parser from '@typescript-eslint/parser';
import react from 'eslint-plugin-react';
import hooks from 'eslint-plugin-react-hooks';

import jupyterlab from './eslint.jupyterlab.mjs';

/** Folders of src/, each of which imports from those before it only: so there is no cycle, lazy ones included. */
const LAYERS = [
  'jupyterlab',
  'request',
  'preferences',
  'metrics',
  'verdicts',
  'advice',
  'ui',
  'locations',
  'cluster',
  'ranks',
  'stacks',
  'output',
  'notebook',
  'job',
  'sweeps',
  'debug',
  'status',
  'sidebar'
];

/** Lines of the longest function: a longer one has parts with a job, and a name, of their own. */
const MOST_LINES = 120;

/** What model/ does without: it has state and texts, and views lie beside it. */
const OF_VIEWS = [
  'react',
  'react-dom',
  '@jupyterlab/apputils',
  '@jupyterlab/ui-components',
  '@lumino/widgets'
];

/** Rules on components, beside those on the order of hooks. */
const HOOKS = [
  'static-components',
  'use-memo',
  'void-use-memo',
  'preserve-manual-memoization',
  'globals',
  'refs',
  'purity',
  'error-boundaries',
  'set-state-in-render',
  'unsupported-syntax',
  'config',
  'gating'
];

const UNLAYERED = ['api', 'testing'];
const unknown = readdirSync('src', { withFileTypes: true })
  .filter(entry => entry.isDirectory())
  .filter(({ name }) => ![...LAYERS, ...UNLAYERED].includes(name));
if (unknown.length) {
  throw new Error(
    `Put ${unknown.map(f => f.name).join(', ')} into LAYERS of eslint.config.mjs.`
  );
}

const layers = LAYERS.map((folder, i) => {
  const above = LAYERS.slice(i + 1);
  const message = `${folder}/ imports from folders before it only: see LAYERS in eslint.config.mjs.`;
  const lazy = `ImportExpression > Literal[value=/^(\\.\\.\\/)+(${above.join('|')})\\//]`;
  return {
    files: [`src/${folder}/**/*.{ts,tsx}`],
    rules: above.length
      ? {
          'no-restricted-imports': [
            'error',
            {
              patterns: [
                // from the folder itself, and from one in it
                {
                  group: above.flatMap(f => [`../${f}/*`, `../../${f}/*`]),
                  message
                }
              ]
            }
          ],
          'no-restricted-syntax': ['error', { selector: lazy, message }]
        }
      : {}
  };
});

export default [
  {
    ignores: [
      'lib/**',
      'labextension/**',
      'node_modules/**',
      'src/api/types.ts'
    ]
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    languageOptions: {
      parser,
      parserOptions: { project: './tsconfig.eslint.json' }
    },
    plugins: {
      jupyter,
      '@typescript-eslint': typescript,
      react,
      'react-hooks': hooks
    },
    settings: { react: { version: 'detect' } },
    rules: {
      ...typescript.configs.recommended.rules,
      ...react.configs.recommended.rules,
      'react-hooks/rules-of-hooks': 'error',
      'react-hooks/exhaustive-deps': 'error',
      ...Object.fromEntries(
        HOOKS.map(rule => [`react-hooks/${rule}`, 'error'])
      ),
      ...jupyter.configs.recommended[0].rules,
      '@typescript-eslint/naming-convention': [
        'error',
        {
          selector: 'interface',
          format: ['PascalCase'],
          custom: { regex: '^I[A-Z]', match: true }
        }
      ],
      '@typescript-eslint/no-floating-promises': 'error',
      '@typescript-eslint/no-namespace': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { args: 'none' }],
      curly: ['error', 'all'],
      eqeqeq: 'error',
      'prefer-arrow-callback': 'error',
      'react/prop-types': 'off',
      'no-restricted-globals': ['error', 'setInterval']
    }
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['src/**/*.spec.{ts,tsx}'],
    rules: {
      'max-lines-per-function': [
        'error',
        { max: MOST_LINES, skipBlankLines: true, skipComments: true }
      ]
    }
  },
  {
    files: ['src/**/*.{ts,tsx}'],
    ignores: ['src/jupyterlab/**', 'src/testing/**', 'src/**/*.spec.{ts,tsx}'],
    plugins: { jupyterlab },
    rules: { 'jupyterlab/reach': 'error' }
  },
  {
    files: ['src/*/model/**'],
    ignores: ['src/**/*.spec.{ts,tsx}'],
    rules: {
      '@typescript-eslint/no-restricted-imports': [
        'error',
        {
          paths: OF_VIEWS.map(name => ({
            name,
            allowTypeImports: true,
            message: 'model/ has state and texts: put what draws beside it.'
          }))
        }
      ]
    }
  },
  ...layers
];
