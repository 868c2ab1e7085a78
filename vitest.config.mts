import { readFileSync, readdirSync } from 'node:fs';

import { defineConfig } from 'vitest/config';

const specs = readdirSync('src', { recursive: true, encoding: 'utf8' })
  .filter(path => /\.spec\.tsx?$/.test(path))
  .map(path => `src/${path}`);

/** Specs that replace modules, which others would meet, too, or say that they are alone; JupyterLab's modules are loaded for each of them anew. */
const alone = specs.filter(path =>
  /\bvi\.(mock|doMock|resetModules)\(|^\/\/ alone: /m.test(readFileSync(path, 'utf8'))
);

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
    setupFiles: ['src/testing/setup.ts'],
    // on a machine that has other work
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // forks are shared, threads are not: vitest knows it by kind of worker, not by project
    pool: 'forks',
    poolOptions: { forks: { isolate: false }, threads: { isolate: true } },
    // what a spec leaves behind would be there in the next one
    unstubGlobals: true,
    // @jupyterlab ships modules with extension-less imports: vite has to transform them
    server: { deps: { inline: [/@jupyterlab\//, /@jupyter\//, /@lumino\//] } },
    projects: [
      {
        extends: true,
        test: {
          name: 'together',
          include: specs.filter(path => !alone.includes(path))
        }
      },
      {
        extends: true,
        test: { name: 'alone', include: alone, pool: 'threads' }
      }
    ]
  }
});
