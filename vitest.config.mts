import { readFileSync } from 'node:fs';

import { defineConfig } from 'vitest/config';

export default defineConfig({
  plugins: [
    {
      // JupyterLab's builder imports .svg as text, and so must the tests
      name: 'svg-as-text',
      enforce: 'pre',
      load(id) {
        const file = id.split('?')[0];
        return file.endsWith('.svg')
          ? `export default ${JSON.stringify(readFileSync(file, 'utf8'))}`
          : undefined;
      }
    }
  ],
  test: {
    environment: 'jsdom',
    include: ['src/**/*.spec.{ts,tsx}'],
    setupFiles: ['src/testing/setup.ts'],
    // @jupyterlab ships modules with extension-less imports: vite has to transform them
    server: { deps: { inline: [/@jupyterlab\//, /@jupyter\//, /@lumino\//] } }
  }
});
