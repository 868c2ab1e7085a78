// What can be wrong with how a part of a page lies: found by measuring what is drawn, not by reading styles.
// Evaluated in the page: a function of one part and the names of checks; returns [{check, where, what}].
(root, checks, sideways) => {
  const found = [];
  const EDGE = 1.5; // px that rounding may take
  const tell = (check, element, what) => found.push({ check, where: nameOf(element), what });
  const nameOf = element => {
    const named = element.closest("[class*='jp-Dtrain']");
    const own = named ? [...named.classList].find(c => c.startsWith('jp-Dtrain')) : root.id || root.className;
    return named === element ? `.${own}` : `.${own} ${element.tagName.toLowerCase()}`;
  };
  const textOf = element => element.textContent.trim().replace(/\s+/g, ' ').slice(0, 60);
  const styles = new Map();
  const styleOf = element => {
    if (!styles.has(element)) {
      styles.set(element, getComputedStyle(element));
    }
    return styles.get(element);
  };
  const clips = style => /hidden|clip|auto|scroll/.test(style.overflowX) || /hidden|clip|auto|scroll/.test(style.overflowY);
  // for screen readers only
  const unseen = element => {
    for (let e = element; e && e !== document.body; e = e.parentElement) {
      const box = e.getBoundingClientRect();
      const style = styleOf(e);
      if (clips(style) && box.width <= 1 && box.height <= 1) {
        return true;
      }
    }
    return !element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  };
  // the part of a box that scrolling and clipping, from this element outwards, leave in view; null where none is
  const seenOf = (box, first) => {
    let { left, top, right, bottom } = box;
    for (let e = first; e && e !== root.parentElement; e = e.parentElement) {
      const style = styleOf(e);
      if (clips(style)) {
        const frame = e.getBoundingClientRect();
        left = Math.max(left, frame.left);
        top = Math.max(top, frame.top);
        right = Math.min(right, frame.right);
        bottom = Math.min(bottom, frame.bottom);
      }
    }
    return right - left > 0.5 && bottom - top > 0.5 ? { left, top, right, bottom } : null;
  };
  const all = [root, ...root.querySelectorAll('*')].filter(e => !(e instanceof SVGElement) && !unseen(e));
  const ours = all.filter(e => e.closest("[class*='jp-Dtrain']"));
  const ancestorsOf = e => (e.parentElement ? [e.parentElement, ...ancestorsOf(e.parentElement)] : []);
  const hasOwnText = e => [...e.childNodes].some(n => n.nodeType === Node.TEXT_NODE && n.data.trim());
  // one box a line of text, so that a paragraph does not cover what floats beside it
  const texts = ours.filter(hasOwnText).flatMap(element =>
    [...element.childNodes]
      .filter(n => n.nodeType === Node.TEXT_NODE && n.data.trim())
      .flatMap(node => {
        const range = document.createRange();
        range.selectNodeContents(node);
        return [...range.getClientRects()].map(box => ({ element, box, node }));
      })
  );

  if (checks.includes('stray')) {
    // a full stop alone in a line, a dot that stands between nothing
    for (const node of new Set(texts.map(text => text.node))) {
      const element = node.parentElement;
      const block = [element, ...ancestorsOf(element)].find(e => !/^inline|^contents/.test(styleOf(e).display));
      for (const { index, 0: mark } of node.data.matchAll(/(?<=^|\s)[.,;:·]+(?=\s|$)/g)) {
        const range = document.createRange();
        range.setStart(node, index);
        range.setEnd(node, index + mark.length);
        const own = range.getBoundingClientRect();
        const beside = texts
          .filter(t => block.contains(t.element))
          .map(t => t.box)
          .filter(box => Math.min(box.bottom, own.bottom) - Math.max(box.top, own.top) > own.height / 2);
        const left = beside.some(box => box.left < own.left - EDGE);
        const right = beside.some(box => box.right > own.right + EDGE);
        const gap = own.left - Math.max(...beside.filter(box => box.left < own.left - EDGE).map(box => box.right));
        if (own.width && left && mark !== '·' && gap > own.height) {
          tell('stray', element, `"${mark}" stands ${Math.round(gap)} px behind its text in "${textOf(block)}"`);
        }
        if (own.width && (!left || (mark === '·' && !right))) {
          tell('stray', element, `"${mark}" ${left ? 'ends' : 'begins'} a line of "${textOf(block)}"`);
        }
      }
    }
  }

  if (checks.includes('sideways')) {
    for (const e of ours) {
      const style = styleOf(e);
      const scrolls = /auto|scroll/.test(style.overflowX);
      const designed = sideways.some(selector => e.matches(selector));
      if (scrolls && !designed && e.scrollWidth > e.clientWidth + EDGE) {
        tell('sideways', e, `scrolls sideways: ${e.scrollWidth} in ${e.clientWidth} px`);
      }
    }
  }

  if (checks.includes('cut')) {
    for (const { element, box } of texts) {
      for (let e = element; e && e !== root.parentElement; e = e.parentElement) {
        const style = styleOf(e);
        const frame = e.getBoundingClientRect();
        const short = style.textOverflow === 'ellipsis' && style.overflowX !== 'visible';
        const over = box.right > frame.right + EDGE;
        if (short && over && e === element && /flex|grid/.test(style.display)) {
          tell('cut', e, `"${textOf(e)}" is cut: its ellipsis does not show in a ${style.display} box`);
          break;
        }
        if (short && over && element.matches('b, [data-metric]') && /\d/.test(element.textContent)) {
          tell('cut', element, `the figure "${textOf(element)}" is cut`);
          break;
        }
        if (short && e.scrollWidth > e.clientWidth + 1) {
          if (!element.closest('[title]')) {
            tell('cut', e, `"${textOf(e)}" ends in an ellipsis, without a title`);
          }
          break;
        }
        const hides = axis => /hidden|clip/.test(axis);
        if (hides(style.overflowX) && (box.right > frame.right + EDGE || box.left < frame.left - EDGE)) {
          tell('cut', element, `"${textOf(element)}" is cut sideways by ${nameOf(e)}`);
          break;
        }
        if (hides(style.overflowY) && (box.bottom > frame.bottom + 3 || box.top < frame.top - 3)) {
          tell('cut', element, `"${textOf(element)}" is cut in height by ${nameOf(e)}`);
          break;
        }
        if (/auto|scroll/.test(style.overflowX) || /auto|scroll/.test(style.overflowY)) {
          break; // can be scrolled to; sideways is checked above
        }
      }
    }
    const frame = root.getBoundingClientRect();
    for (const { element, box } of texts) {
      const over = (seenOf(box, element)?.right ?? frame.right) - frame.right;
      if (over > EDGE) {
        tell('cut', element, `"${textOf(element)}" ends ${Math.round(over)} px beyond its part`);
      }
    }
    const pen = document.createElement('canvas').getContext('2d');
    for (const e of ours.filter(e => e.tagName === 'SELECT' && e.selectedOptions.length && !e.title)) {
      const style = styleOf(e);
      pen.font = `${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
      const room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      const chosen = e.selectedOptions[0].text;
      if (pen.measureText(chosen).width > room + EDGE) {
        tell('cut', e, `the choice "${chosen.slice(0, 60)}" is longer than its field`);
      }
    }
    for (const e of ours.filter(e => e.tagName === 'INPUT' && e.type !== 'checkbox')) {
      if (e.value && e.scrollWidth > e.clientWidth + EDGE) {
        tell('cut', e, `the value "${e.value.slice(0, 40)}" is longer than its field`);
      }
    }
  }

  const codeOf = part => {
    const found = [];
    for (const line of part.querySelectorAll('.cm-line')) {
      const walk = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
      while (walk.nextNode()) {
        if (walk.currentNode.data.trim() && !walk.currentNode.parentElement.closest('.jp-DtrainDebug-marks')) {
          found.push(walk.currentNode);
        }
      }
    }
    return found;
  };
  const meet = (a, b) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    return wide > 2 && high > 3 ? [Math.round(wide), Math.round(high)] : null;
  };
  if (checks.includes('overlap')) {
    const solid = [];
    for (const { element, box, node } of texts) {
      const seen = seenOf(box, element);
      if (seen) {
        solid.push({ element, owner: node, ...seen });
      }
    }
    // a target without a frame, as that of a link in a sentence, covers nothing but with its text
    const framed = e => {
      const style = styleOf(e);
      return parseFloat(style.borderTopWidth) > 0 || !/^(transparent|rgba\(.*, 0\))$/.test(style.backgroundColor);
    };
    const drawn = e => (e.matches('button, summary') ? framed(e) || !textOf(e) : true);
    for (const element of ours.filter(e => e.matches('button, input, select, textarea, summary, progress, img, canvas') && drawn(e))) {
      const seen = seenOf(element.getBoundingClientRect(), element.parentElement);
      if (seen) {
        solid.push({ element, owner: element, ...seen });
      }
    }
    // a cell's own code, where something of ours stands beside it
    for (const node of root.querySelector('.jp-DtrainDebug-marks') ? codeOf(root) : []) {
      const range = document.createRange();
      range.selectNodeContents(node);
      for (const box of range.getClientRects()) {
        const seen = seenOf(box, node.parentElement);
        if (seen) {
          solid.push({ element: node.parentElement, owner: node, ...seen });
        }
      }
    }
    // what is scrolled under an opaque element that stays in view is not lost
    const pinnedOf = e =>
      [e, ...ancestorsOf(e)].find(p => styleOf(p).position === 'sticky' && !/^(transparent|rgba\(.*, 0\))$/.test(styleOf(p).backgroundColor));
    const isUnder = (e, p) => !!p && !p.contains(e) && p.parentElement.contains(e);
    solid.sort((a, b) => a.top - b.top);
    const told = new Set();
    for (let i = 0; i < solid.length; i++) {
      for (let j = i + 1; j < solid.length && solid[j].top < solid[i].bottom - 3; j++) {
        const [a, b] = [solid[i], solid[j]];
        const label = a.element.closest('label');
        const nested = a.owner === b.owner || a.element.contains(b.element) || b.element.contains(a.element) || (label && label.contains(b.element));
        const over = nested ? null : meet(a, b);
        if (over && (isUnder(a.element, pinnedOf(b.element)) || isUnder(b.element, pinnedOf(a.element)))) {
          continue;
        }
        const key = over && `${nameOf(a.element)} ${nameOf(b.element)}`;
        if (over && !told.has(key)) {
          told.add(key);
          tell('overlap', a.element, `"${textOf(a.element)}" and "${textOf(b.element)}" (${nameOf(b.element)}) overlap by ${over.join(' × ')} px`);
        }
      }
    }
  }

  if (checks.includes('stacked')) {
    const lists = ours.filter(e => e.matches('ul, ol, tbody, dl, [role=log] > div'));
    for (const list of lists) {
      const style = styleOf(list);
      const row = /flex/.test(style.display) && style.flexDirection.startsWith('row');
      const grid = /grid/.test(style.display);
      const items = [...list.children].filter(e => all.includes(e) && e.matches('li, tr, div'));
      if (items.length < 2 || grid || (row && !list.matches('[class*=-lines]'))) {
        continue;
      }
      const boxes = items.map(e => e.getBoundingClientRect());
      for (let i = 1; i < items.length; i++) {
        if (boxes[i].top < boxes[i - 1].bottom - EDGE) {
          tell('stacked', items[i], `"${textOf(items[i])}" lies beside the line before it, not below`);
          break;
        }
      }
    }
  }

  if (checks.includes('beside')) {
    for (const label of ours.filter(e => e.matches('[class*=-label], [class*=logRanks], time'))) {
      const content = label.nextElementSibling;
      if (!content || unseen(content) || !label.textContent.trim()) {
        continue;
      }
      const [a, b] = [label.getBoundingClientRect(), content.getBoundingClientRect()];
      if (!b.height || b.left < a.right - EDGE || b.top > a.bottom || a.top > b.bottom) {
        tell('beside', label, `"${textOf(label)}" does not stand beside "${textOf(content)}"`);
      }
    }
    for (const badged of ours.filter(e => e.matches('[data-dtrain-rank]'))) {
      // a figure has room for it; text and tables have none
      const content = [...badged.querySelectorAll('table, pre, p')].filter(e => !unseen(e));
      for (const pseudo of ['::before', '::after']) {
        const badge = getComputedStyle(badged, pseudo);
        if (badge.content === 'none' || badge.position !== 'absolute') {
          continue;
        }
        const frame = badged.getBoundingClientRect();
        const left = frame.left + badged.clientLeft + parseFloat(badge.left);
        const top = frame.top + badged.clientTop + parseFloat(badge.top);
        const box = { left, top, right: left + parseFloat(badge.width), bottom: top + parseFloat(badge.height) };
        const under = content.find(e => meet(box, e.getBoundingClientRect()));
        if (under) {
          tell('beside', badged, `the badge of its rank lies on its ${under.tagName.toLowerCase()}`);
        }
      }
    }
  }

  if (checks.includes('contrast')) {
    // colours as 8 bits each, whatever way they are written in
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = 1;
    const brush = canvas.getContext('2d', { willReadFrequently: true });
    const known = new Map();
    const bytesOf = colour => {
      if (!known.has(colour)) {
        brush.clearRect(0, 0, 1, 1);
        brush.fillStyle = colour;
        brush.fillRect(0, 0, 1, 1);
        known.set(colour, [...brush.getImageData(0, 0, 1, 1).data]);
      }
      return known.get(colour);
    };
    const over = (top, below) => [0, 1, 2].map(i => (top[i] * top[3] + below[i] * (255 - top[3])) / 255).concat(255);
    const groundOf = element => {
      const layers = [];
      for (let e = element; e; e = e.parentElement) {
        const style = styleOf(e);
        if (style.backgroundImage !== 'none') {
          return null;
        }
        layers.push(bytesOf(style.backgroundColor));
        if (layers[layers.length - 1][3] === 255) {
          break;
        }
      }
      return layers.reduceRight((below, top) => over(top, below), [255, 255, 255, 255]);
    };
    const light = bytes => {
      const [r, g, b] = bytes.slice(0, 3).map(v => v / 255).map(v => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
      return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const told = new Set();
    for (const { element } of texts) {
      const style = styleOf(element);
      // what is switched off may be faint; colours of code are the theme's
      const off = '[data-stale], :disabled, [aria-disabled=true]';
      const theirs = '.cm-editor, .jp-OutputArea-output, .jp-InputPrompt, .jp-OutputPrompt, .jp-DtrainJob-code';
      const faint = element.closest(`${off}, ${theirs}`);
      const ground = faint ? null : groundOf(element);
      if (!ground) {
        continue;
      }
      const [a, b] = [light(over(bytesOf(style.color), ground)), light(ground)];
      const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
      const size = parseFloat(style.fontSize);
      const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
      if (ratio < (large ? 3 : 4.5) - 0.01 && !told.has(nameOf(element))) {
        told.add(nameOf(element));
        tell('contrast', element, `"${textOf(element)}" has ${ratio.toFixed(1)} to 1`);
      }
    }
  }

  if (checks.includes('target')) {
    const told = new Set();
    const targets = "button, a[href], input:not([type=hidden]), select, textarea, summary, [role=button], [role=tab], [role=option], [role=radio], [role=checkbox], [role=switch]";
    for (const e of ours.filter(e => e.matches(targets))) {
      const box = e.getBoundingClientRect();
      if (box.width >= 23.5 && box.height >= 23.5) {
        continue;
      }
      // a link in a sentence is as high as its line (WCAG 2.5.8, inline)
      const inline = /^inline/.test(styleOf(e).display) && e.parentElement && hasOwnText(e.parentElement);
      // a label around it is a target, too
      const label = e.closest('label')?.getBoundingClientRect();
      if (inline || (label && label.width >= 24 && label.height >= 23.5)) {
        continue;
      }
      const key = nameOf(e);
      if (!told.has(key)) {
        told.add(key);
        tell('target', e, `"${textOf(e) || e.getAttribute('aria-label') || ''}" is ${Math.round(box.width)} × ${Math.round(box.height)} px`);
      }
    }
  }
  return found;
}
