/**
 * How prompts are written: sections, lists and references as plain Markdown. A value may have many lines; those
 * behind its first are indented, so that no value can pass for a heading or for another item.
 */
import { linesOf, visible } from '../untrusted-text.ts'

/** A heading and what stands below it; nothing at all where there is nothing to say. */
export function section(title: string, ...parts: readonly string[]): string {
  const body = parts.filter((part) => part !== '').join('\n')
  return body === '' ? '' : `## ${title}\n\n${body}\n`
}

/** One item a line. */
export function bullets(items: readonly string[]): string {
  return items.map((item) => `- ${indented(item)}`).join('\n')
}

/** The value with its further lines indented, blank ones left out. */
function indented(value: string): string {
  const [first = '', ...rest] = linesOf(value).map((line) => visible(line).trimEnd())
  return [first, ...rest.filter((line) => line !== '').map((line) => `  ${line}`)].join('\n')
}

/** A text of several paragraphs that somebody wrote for people. */
export function paragraphs(value: string): string {
  return linesOf(value).map(visible).join('\n')
}

/** A whole prompt: its parts with a blank line between them, one line end at its end. */
export function document(...parts: readonly string[]): string {
  return `${parts
    .filter((part) => part !== '')
    .map((part) => part.trimEnd())
    .join('\n\n')}\n`
}

/** A member that should be a text. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

/** A member that should be a list of texts; other things in it are shown as JSON. */
export function textsOf(value: unknown): string[] {
  if (!Array.isArray(value)) return value === undefined || value === null || value === '' ? [] : [shown(value)]
  return value.map(shown).filter((text) => text !== '')
}

/** A member that should be a list of objects. */
export function objectsOf(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : []
}

function shown(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
