import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

import parser from '@typescript-eslint/parser';
import { ESLint, Linter } from 'eslint';
import ts from 'typescript';
import { beforeAll, expect, it } from 'vitest';

/** An object of JupyterLab, and one of ours. */
const FILES: Record<string, string> = {
  '/node_modules/@lumino/signaling/index.d.ts': `
    export class Signal<T, U> {
      constructor(sender: T);
      emit(args: U): void;
    }`,
  '/node_modules/@jupyterlab/debugger/index.d.ts': `
    import { Signal } from '@lumino/signaling';
    export interface IService {
      update(lines: number[]): Promise<void>;
      readonly clicked: Signal<IService, number>;
      readonly node: Element;
      onPress: () => void;
    }
    export class Service implements IService {
      update(lines: number[]): Promise<void>;
      readonly clicked: Signal<IService, number>;
      readonly node: Element;
      onPress: () => void;
      public _pressed: number;
    }`
};
const HEAD = `
  import { IService, Service } from '@jupyterlab/debugger';
  import { Signal } from '@lumino/signaling';
  class Own {
    clicked = new Signal<Own, number>(this);
    _pressed = 1;
    update(): void {}
    is(other: Own): boolean { return this._pressed === other._pressed; }
  }
  declare const service: IService;
  declare const part: Pick<IService, 'update' | 'onPress'>;
  declare const own: Own;
  declare const json: unknown;
`;

let rules: ESLint.Plugin;

beforeAll(async () => {
  const file = pathToFileURL(resolve('eslint.jupyterlab.mjs')).href;
  ({ default: rules } = await import(/* @vite-ignore */ file));
});

/** What the rule says of each line of a file that is not in the fenced folder; '' where it says nothing. */
function said(lines: readonly string[]): string[] {
  const path = '/src/some.ts';
  const files: Record<string, string> = {
    ...FILES,
    [path]: [...lines, HEAD].join('\n')
  };
  const options: ts.CompilerOptions = {
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    types: []
  };
  const host = ts.createCompilerHost(options);
  const { fileExists, readFile, getSourceFile } = host;
  host.fileExists = name => name in files || fileExists(name);
  host.directoryExists = () => true;
  host.readFile = name => files[name] ?? readFile(name);
  host.getCurrentDirectory = () => '/';
  host.getSourceFile = (name, version) =>
    name in files
      ? ts.createSourceFile(name, files[name], version, true)
      : getSourceFile(name, version);
  const program = ts.createProgram([path], options, host);
  const found = new Linter({ cwd: '/' }).verify(
    files[path],
    {
      files: ['**/*.ts'],
      languageOptions: {
        parser: parser as unknown as Linter.Parser,
        parserOptions: { programs: [program] }
      },
      plugins: { jupyterlab: rules },
      rules: { 'jupyterlab/reach': 'error' }
    },
    path
  );
  return lines.map((_, i) =>
    found
      .filter(({ line }) => line === i + 1)
      .map(({ messageId, message }) => messageId ?? message)
      .join()
  );
}

it('refuses to reach into an object of JupyterLab, and allows everything with our own', () => {
  const cases: [string, string][] = [
    ['(service as unknown as { a: number }).a;', 'cast'],
    ['(service as any).a;', 'cast'],
    ['(service as Own | IService as unknown as Own).update();', 'cast'],
    ['(service as { b?: 1 }).b;', 'cast'],
    ['service.update = async () => undefined;', 'replaced'],
    ['part.update = async () => undefined;', 'replaced'],
    ['Object.assign(Service, { a: 1 });', 'changed'],
    ["Reflect.deleteProperty(Service.prototype, 'a');", 'changed'],
    ['(service as Service)._pressed;', 'hidden'],
    ['service.clicked.emit(1);', 'emitted'],
    ['{ const { clicked } = service; clicked.emit(1); }', 'emitted'],
    ["service.node.querySelector('.jp-Cell');", 'markup'],
    ['document.querySelector(`p > .lm-Panel ${1}`);', 'markup'],
    ["service.node.classList.contains('widget-box');", 'markup'],
    // what JupyterLab offers, and our own
    ['service.onPress = () => undefined;', ''],
    ['part.onPress = () => undefined;', ''],
    ['void service.update([]);', ''],
    ['(service as Service).onPress();', ''],
    ['own.update = () => undefined;', ''],
    ['own.clicked.emit(1);', ''],
    ['own._pressed;', ''],
    ['(json as unknown as Own).update();', ''],
    ['Object.assign(own, { a: 1 });', ''],
    ["document.querySelector('.jp-DtrainOutput.jp-mod-primary');", ''],
    ["['application/vnd.jupyter.widget-view+json'];", '']
  ];
  const lines = cases.map(([line]) => line);
  const saying = said(lines).map((what, i) => [lines[i], what]);
  expect(saying).toEqual(cases);
});
