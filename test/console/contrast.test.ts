/** The console's colours in the light and in the dark, by the measure of WCAG 2.2, and that nothing on the page moves. */
import { readFileSync } from 'node:fs'
import t from 'tap'

const css = readFileSync('console/main.css', 'utf8')

/** What something is drawn on; everything else is drawn on it. */
const GROUNDS = ['back', 'card', 'chosen']
/** Lines that part things and are no part of a control: WCAG asks nothing of them. */
const DECORATION = ['line']
/** Least ratio to each ground: of text (WCAG 2.2, 1.4.3), and of what shows where a control is (1.4.11). */
const TEXT_MIN = 4.5
const EDGE_MIN = 3

const SCHEMES = ['light', 'dark'] as const
type Colours = Readonly<Record<string, string>>

/** The colours of a scheme, as `#rrggbb` by their names. */
function coloursIn(scheme: (typeof SCHEMES)[number]): Colours {
  const found = css.matchAll(/--(\w+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);/g)
  return Object.fromEntries([...found].map(([, name, light, dark]) => [name, scheme === 'light' ? light! : dark!]))
}

/** WCAG 2.2, relative luminance: 0 to 1. */
function luminanceOf(colour: string): number {
  const [red, green, blue] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red! + 0.7152 * green! + 0.0722 * blue!
}

/** WCAG 2.2, contrast ratio: 1 to 21. */
function ratioOf(one: string, other: string): number {
  const [dark, light] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b)
  return (light! + 0.05) / (dark! + 0.05)
}

t.test('the measure is that of WCAG', async (t) => {
  t.equal(ratioOf('#000000', '#ffffff'), 21)
  t.equal(ratioOf('#777777', '#ffffff').toFixed(2), '4.48')
})

for (const scheme of SCHEMES)
  t.test(`text and the edges of controls stand out from every ground, in the ${scheme}`, async (t) => {
    const colours = coloursIn(scheme)
    const drawn = Object.keys(colours).filter((name) => ![...GROUNDS, ...DECORATION].includes(name))
    t.ok(drawn.length >= 7)
    for (const name of drawn)
      for (const ground of GROUNDS) {
        const ratio = ratioOf(colours[name]!, colours[ground]!)
        t.ok(ratio >= (name === 'edge' ? EDGE_MIN : TEXT_MIN), `${name} on ${ground}: ${ratio.toFixed(2)}`)
      }
    t.ok(ratioOf(colours.card!, colours.bad!) >= TEXT_MIN, 'how much needs a person is written on red')
  })

t.test('each colour is named once, and nothing else in the style has one', async (t) => {
  const literal = css.replaceAll(/--\w+: light-dark\([^)]*\);/g, '').match(/#[0-9a-f]{3,8}\b|\b(?:hsl|oklch)\(/g)
  t.equal(literal, null)
})

t.test('the edges of controls are drawn with the colour for that', async (t) => {
  const ruleOf = (selector: string): string =>
    [...css.matchAll(/(?:^|\n)([^{}@]+) \{([^{}]*)\}/g)].find(([, names]) => names!.trim() === selector)?.[2] ?? ''
  for (const selector of ['button,\ninput,\nselect,\ntextarea', '.figure', 'dialog'])
    t.match(ruleOf(selector), 'border: 1px solid var(--edge)', selector)
})

t.test('nothing moves, so that nobody has to ask for less motion', async (t) => {
  t.notMatch(css, /\b(?:animation|transition|scroll-behavior)\b/)
})
