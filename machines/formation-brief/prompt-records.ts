/**
 * How prompts name intent records. A brief may name a record by key or by id; either way it is shown by id and title,
 * once per list, and counts as mentioned.
 */
import type { SourceRecord } from '../documents/compiled-brief.ts'
import { bullets } from '../prompt-text.ts'
import { textOf } from './open-members.ts'
import type { BriefCore } from './snapshot.ts'

/** The heads of a record that say what is protected; the first with any text is used. */
const PROTECTED_HEADS = ['capability', 'expectation'] as const

type Protected = NonNullable<BriefCore['protected_capabilities']>[number]

export function named({ id, title }: SourceRecord): string {
  return `[${id}] ${title}`
}

function wordsOf(record: object, head: string): string {
  return textOf((record as Record<string, unknown>)[head])
}

function isNamedBy({ id, key }: SourceRecord, name: string | undefined): boolean {
  return name !== undefined && (name === id || name === key)
}

/** What the records say under one head, one line each, leaving out text that was already shown. */
export function recordTexts({ source_intent }: BriefCore, head: string, told: ReadonlySet<string> = new Set()): string {
  const items = source_intent.flatMap((record) => {
    const text = wordsOf(record, head)
    return text === '' || told.has(wordsBy(record.id, text)) ? [] : [`${named(record)}: ${text}`]
  })
  return bullets(items)
}

function wordsBy(id: string | undefined, words: string): string {
  return `${id} ${words}`
}

/** What the brief protects, together with what its records say under that head; no text appears twice. */
export function protectedWith(core: BriefCore, head?: string): string {
  const { protected_capabilities: given = [], source_intent } = core
  const items = new Set<string>()
  const told = new Set<string>()
  for (const [n, one] of given.entries()) {
    const record = source_intent.find((source) => isNamedBy(source, one.id))
    if (record !== undefined && isBare(one) && isToldElsewhere(given, n, record)) continue
    const said = [one.statement, ...PROTECTED_HEADS.map((of) => wordsOf(record ?? {}, of))]
    const words = said.find(isSaid) ?? ''
    items.add(itemOf(one, record, words))
    told.add(wordsBy(record?.id, words))
  }
  const texts = head === undefined ? '' : recordTexts(core, head, told)
  return [bullets([...items]), texts].filter((part) => part !== '').join('\n')
}

/** Whether the entry only names a record and says nothing about it. */
function isBare({ id: _, ...more }: Protected): boolean {
  return Object.keys(more).length === 0
}

/** Whether another entry names the same record and says more about it, or comes first and says as much. */
function isToldElsewhere(given: readonly Protected[], n: number, record: SourceRecord): boolean {
  return given.some((other, m) => m !== n && isNamedBy(record, other.id) && (m < n || !isBare(other)))
}

/** One protected capability, under the brief's name for it, or else its record's title. */
function itemOf(one: Protected, record: SourceRecord | undefined, words: string): string {
  const { name = isSaid(one.statement) ? undefined : record?.title, evidence_required = [] } = one
  const id = record?.id ?? one.id
  const marks = [one.severity ?? one.priority, one.scope].filter(isSaid)
  const title = `${id === undefined ? '' : `[${id}] `}${[name, words].filter(isSaid).join(': ')}`
  const evidence = evidence_required.map((text) => `evidence: ${text}`)
  return [`${title}${marks.length === 0 ? '' : ` (${marks.join('; ')})`}`, ...evidence].join('\n')
}

function isSaid(text: string | undefined): text is string {
  return text !== undefined && text !== ''
}

/** Whether the text names the record, by id or by key. Matches whole keys: one may be a prefix of another. */
export function isMentioned(text: string, record: SourceRecord): boolean {
  const key = wordsOf(record, 'key').replaceAll('.', '\\.')
  return text.includes(record.id) || (key !== '' && new RegExp(`(?<![\\w.-])${key}(?![\\w-])`).test(text))
}
