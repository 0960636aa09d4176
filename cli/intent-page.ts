/** An intent record for people: its content, the evidence that it holds, and its relationships. */
import type { Document } from './document.ts'
import { type Printer, safe, said } from './print.ts'

const WORDS = ['capability', 'threat', 'expectation', 'strategy', 'tradeoff', 'evidence_summary']

/** `keys`: the keys of the records that it names, by id. */
export function showRecord(record: Document, print: Printer, keys: ReadonlyMap<string, string>): void {
  const { scope = {}, superseded_by } = record
  const key = (id: string): string => keys.get(id) ?? id
  print.fields([
    ['key', record.key],
    ['id', record.id],
    ['state', `${print.state(record.state)}${record.reason === undefined ? '' : `: ${safe(record.reason)}`}`],
    ['title', safe(record.title)],
    ...WORDS.map((name) => [name.replaceAll('_', ' '), said(record[name])] as const),
    ['confidence', String(record.confidence)],
    ['covers', said(Object.values(scope).flat().join(', '))],
    ['version', String(record.version)],
    ['superseded by', superseded_by === undefined ? undefined : key(superseded_by)],
    ['supersedes', record.supersedes.map(key).join(', ')],
    ['hypothesis', record.hypothesis_id],
    ['created', `${record.created_at}${person(record.created_by)}`],
    ['in this state', `since ${record.state_at}${person(record.state_by)}`],
  ])
  print.section(
    'Evidence',
    record.evidence.map((one: Document) => evidence(one, print)),
  )
  print.section(
    'Relationships',
    record.relationships.map((one: Document) => relationship(one, key)),
  )
  print.section('Sources', (record.sources ?? []).map(source))
}

function evidence({ id, description, required, latest, command, gate_name }: Document, print: Printer): string {
  const how = [gate_name === undefined ? undefined : `gate ${gate_name}`, command].filter((part) => part !== undefined)
  const shown = latest === undefined ? 'not observed' : `${latest.result} at ${latest.observed_at}`
  const tint = latest === undefined ? 'dim' : latest.result === 'fail' ? 'bad' : 'good'
  const name = `${id.slice(id.indexOf('.') + 1)}  ${required ? 'required' : 'optional'}`
  return `${name}  ${safe(description)}${how.length === 0 ? '' : ` (${safe(how.join(', '))})`}  ${print.tint(shown, tint)}`
}

/** The ids of all records that it names. */
export function namedBy({ superseded_by, supersedes, relationships }: Document): readonly string[] {
  const related = relationships.map(({ to }: Document) => to)
  return [...new Set<string>([...(superseded_by === undefined ? [] : [superseded_by]), ...supersedes, ...related])]
}

function relationship({ id, type, to, notes }: Document, key: (id: string) => string): string {
  return `${id.slice(id.indexOf('.') + 1)}  ${type} ${key(to)}${notes === undefined ? '' : `: ${safe(notes)}`}`
}

/** Text quoted from a repository is marked as such, so that a reader does not take it for the record's own. */
function source({ source_type, source_ref, summary, excerpt, untrusted }: Document): string {
  const words = [summary, excerpt].filter((part) => part !== undefined).join(' | ')
  const label = untrusted ? ' (untrusted text)' : ''
  return `${source_type} ${safe(source_ref)}${words === '' ? '' : `${label}: ${safe(words)}`}`
}

function person(by: Document | undefined): string {
  return by === undefined ? '' : ` by ${safe(by.name)}`
}
