import ts from 'typescript';

/**
 * Only src/jupyterlab reaches into objects of JupyterLab, Lumino and ipywidgets: see "Private parts of others" in
 * ARCHITECTURE.md. The rule knows the type of each expression, so that all of this is allowed with our own objects,
 * and with JSON (@lumino/coreutils, @jupyterlab/nbformat).
 */
const FOREIGN =
  /\/node_modules\/(@jupyterlab\/(?!nbformat\/)|@lumino\/(?!coreutils\/)|@codemirror\/|@jupyter-widgets\/)/;

/** Methods of a translation bundle, which are public. */
const PUBLIC = ['_n', '_p', '_np'];

/** A selector of elements that are not ours; `jp-mod-` marks ours, too. A MIME type is none. */
const MARKUP = /^[^/]*\.(jp-(?!Dtrain|mod-)|lm-|cm-|jupyter-widget|widget-)/;

/** Functions that change the properties of their first argument. */
const CHANGES = ['assign', 'defineProperty', 'deleteProperty', 'set'];

const messages = {
  cast: 'This cast reaches into an object of JupyterLab.',
  replaced: 'This replaces a method of an object of JupyterLab.',
  changed: 'This changes an object of JupyterLab.',
  hidden: '{{name}} is a private name of an object that is not ours.',
  emitted: 'This emits a signal of an object of JupyterLab.',
  markup: 'These elements are not ours.'
};
for (const key of Object.keys(messages)) {
  messages[key] += ' Put it into src/jupyterlab, which says what is lost without it.';
}

const isForeign = symbol =>
  symbol?.declarations?.some(d => FOREIGN.test(d.getSourceFile().fileName)) ??
  false;

/** Whether a symbol is a method: also of a mapped type such as Pick, which makes it a property. */
const isMethod = symbol =>
  Boolean(symbol?.flags & (ts.SymbolFlags.Method | ts.SymbolFlags.Function)) ||
  (symbol?.declarations?.some(
    d => ts.isMethodSignature(d) || ts.isMethodDeclaration(d)
  ) ??
    false);

/** Whether a type, or a part of it, is an object of JupyterLab. */
function isForeignType(type) {
  return (
    (type.isUnionOrIntersection() && type.types.some(isForeignType)) ||
    isForeign(type.getSymbol()) ||
    isForeign(type.aliasSymbol) ||
    // such as Pick
    (type.aliasTypeArguments ?? []).some(isForeignType)
  );
}

const reach = {
  meta: { type: 'problem', messages, schema: [] },
  create(context) {
    const services = context.sourceCode.parserServices;
    const typeOf = node => services.getTypeAtLocation(node);
    const symbolOf = node => services.getSymbolAtLocation(node);
    const isMember = node =>
      node.type === 'MemberExpression' && !node.computed;

    function checkCast(node) {
      if (node.parent.type === 'TSAsExpression') {
        return; // its outermost one is checked
      }
      const isDouble = node.expression.type === 'TSAsExpression';
      const target = typeOf(node.typeAnnotation);
      if (
        isForeignType(typeOf(isDouble ? node.expression.expression : node.expression)) &&
        (isDouble || !isForeignType(target)) &&
        node.typeAnnotation.typeName?.name !== 'const'
      ) {
        context.report({ node, messageId: 'cast' });
      }
    }

    function checkAssignment(node) {
      if (!isMember(node.left)) {
        return;
      }
      const symbol = symbolOf(node.left.property);
      if (isMethod(symbol) && isForeign(symbol)) {
        context.report({ node, messageId: 'replaced' });
      }
    }

    function checkCall(node) {
      const { callee } = node;
      if (!isMember(callee)) {
        return;
      }
      const [first] = node.arguments;
      const { object, property } = callee;
      if (
        ['Object', 'Reflect'].includes(object.name) &&
        CHANGES.includes(property.name) &&
        first &&
        isForeignType(typeOf(first))
      ) {
        context.report({ node, messageId: 'changed' });
      }
      const type = typeOf(object);
      if (
        property.name === 'emit' &&
        type.getSymbol()?.name === 'Signal' &&
        (isForeignType(type.typeArguments?.[0] ?? type) ||
          (isMember(object) && isForeign(symbolOf(object.property))))
      ) {
        context.report({ node, messageId: 'emitted' });
      }
      if (
        ['hasClass', 'contains'].includes(property.name) &&
        MARKUP.test(`.${first?.value}`)
      ) {
        context.report({ node: first, messageId: 'markup' });
      }
    }

    function checkName(node) {
      const { name } = node.property;
      if (
        !isMember(node) ||
        !/^_[a-z]/i.test(name ?? '') ||
        PUBLIC.includes(name) ||
        node.object.type === 'ThisExpression'
      ) {
        return;
      }
      const symbol = symbolOf(node.property);
      if (!symbol || isForeign(symbol)) {
        context.report({ node, messageId: 'hidden', data: { name } });
      }
    }

    function checkText(node, text) {
      if (typeof text === 'string' && MARKUP.test(text)) {
        context.report({ node, messageId: 'markup' });
      }
    }

    return {
      TSAsExpression: checkCast,
      AssignmentExpression: checkAssignment,
      CallExpression: checkCall,
      MemberExpression: checkName,
      Literal: node => checkText(node, node.value),
      TemplateElement: node => checkText(node, node.value.raw)
    };
  }
};

/** Rules of this project. */
export default { rules: { reach } };
