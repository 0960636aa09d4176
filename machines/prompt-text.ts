/**
 * How prompts are written: sections, lists and references as plain Markdown. A value may have many lines; all after the
 * first are indented, so that no value can pass for a heading or for another item. Text that nobody vouches for is also
 * fenced (`untrusted-text.ts`).
 */
import { clipped } from './clipped.ts'
import { fenced, linesOf, onOneLine, visible } from './untrusted-text.ts'

/** A heading and its text; empty if there is no text. */
export function section(title: string, ...parts: readonly string[]): string {
  const body = parts.filter((part) => part !== '').join('\n')
  return body === '' ? '' : `## ${title}\n\n${body}\n`
}

/** One item a line. */
export function bullets(items: readonly string[]): string {
  return items.map((item) => `- ${indented(item)}`).join('\n')
}

/** How many bytes of UTF-8 the decisions of owners may take in a prompt; the newest one is told even if it is longer. */
const DECISIONS_BYTES_MAX = 22_528

/**
 * The decisions of owners, oldest first: the newest one, those before it as far as they fit, and how many do not.
 * `roomBytes`: what the rest of the prompt leaves them.
 */
export function decisionBullets(decisions: readonly string[], roomBytes = DECISIONS_BYTES_MAX): string {
  const lines = decisions.map((one) => bullets([one]))
  return newest(lines, Math.min(roomBytes, DECISIONS_BYTES_MAX), (kept) => kept.join('\n'))
}

/**
 * Lines in order of age, as `written`: the newest one, those before it as far as they fit in that many bytes, and how
 * many do not.
 */
export function newest(
  lines: readonly string[],
  roomBytes: number,
  written: (kept: readonly string[]) => string,
): string {
  let left = roomBytes
  const omitted = lines.findLastIndex((line, i) => {
    left -= Buffer.byteLength(line) + 1
    return left < 0 && i < lines.length - 1
  })
  const note = `(${omitted + 1} earlier ones are omitted to limit the length of the prompt.)\n\n`
  return `${omitted < 0 ? '' : note}${written(lines.slice(omitted + 1))}`
}

/** The value with its further lines indented, without blank lines. */
function indented(value: string): string {
  const [first = '', ...rest] = linesOf(value).map((line) => visible(line).trimEnd())
  return [first, ...rest.filter((line) => line !== '').map((line) => `  ${line}`)].join('\n')
}

/** The text on one line with single spaces between words, clipped to `charsMax` if given. */
export function lineOf(value: string, charsMax = Number.POSITIVE_INFINITY): string {
  return clipped(onOneLine(value).replace(/\s+/g, ' ').trim(), charsMax)
}

/** Lines that nobody vouches for, in one fence: data, whatever they say. */
export function fencedLines(lines: readonly string[], origin: string): string {
  return lines.length === 0 ? '' : fenced(lines.join('\n'), origin)
}

/** A text of several paragraphs that somebody wrote for people. */
export function paragraphs(value: string): string {
  return linesOf(value).map(visible).join('\n')
}

/** The most bytes that a UTF-16 unit takes there: `\u{feff}`. */
const BYTES_PER_UNIT_MAX = 8

/** Whether such a text takes more than `bytesMax` bytes of UTF-8. Only long texts are measured. */
export function takesMoreInPrompt(text: string, bytesMax: number): boolean {
  return text.length * BYTES_PER_UNIT_MAX > bytesMax && Buffer.byteLength(paragraphs(text)) > bytesMax
}

/** A whole prompt: its parts separated by blank lines, ending with one line break. */
export function document(...parts: readonly string[]): string {
  return `${parts
    .filter((part) => part !== '')
    .map((part) => part.trimEnd())
    .join('\n\n')}\n`
}
