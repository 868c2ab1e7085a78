// One sheet per folder of src, and one prefix per sheet: a class can then be defined in one place only.
const parts = {
  cluster: 'Cluster',
  debug: 'Debug',
  job: 'Job',
  notebook: 'Notebook',
  output: 'Output',
  ranks: 'Ranks',
  sidebar: 'Sidebar',
  stacks: 'Stacks',
  status: 'Status',
  sweeps: 'Sweep'
};


export default {
  extends: 'stylelint-config-recommended',
  rules: {
    'no-duplicate-selectors': true,
    'no-descending-specificity': null
  },
  overrides: [
    ...Object.entries(parts).map(([sheet, part]) => ({
      files: [`style/${sheet}.css`],
      rules: {
        'selector-disallowed-list': [
          [new RegExp(`^(?!\\.jp-Dtrain${part}(?![a-z])|to$|from$)`)],
          {
            message: `Selectors of ${sheet}.css begin with .jp-Dtrain${part}`
          }
        ]
      }
    })),
    {
      files: ['style/ui.css'],
      rules: {
        'selector-disallowed-list': [
          [/^(?!:root$|\.jp-Dtrain(Ui)?(?![A-Za-z])|:where\(\.jp-Dtrain)/],
          { message: 'Selectors of ui.css begin with .jp-DtrainUi' }
        ]
      }
    }
  ]
};
