import jupyter from '@jupyter/eslint-plugin';
import typescript from '@typescript-eslint/eslint-plugin';
import parser from '@typescript-eslint/parser';
import react from 'eslint-plugin-react';

export default [
  { ignores: ['lib/**', 'labextension/**', 'node_modules/**', 'src/api/types.ts'] },
  {
    files: ['src/**/*.{ts,tsx}'],
    languageOptions: {
      parser,
      parserOptions: { project: './tsconfig.eslint.json' }
    },
    plugins: { jupyter, '@typescript-eslint': typescript, react },
    settings: { react: { version: 'detect' } },
    rules: {
      ...typescript.configs.recommended.rules,
      ...react.configs.recommended.rules,
      ...jupyter.configs.recommended[0].rules,
      '@typescript-eslint/naming-convention': [
        'error',
        { selector: 'interface', format: ['PascalCase'], custom: { regex: '^I[A-Z]', match: true } }
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
  }
];
