/** The options for the content of a record, shared by all commands that take them. */
import type { Command } from 'commander'
import { InvalidArgumentError } from 'commander'
import { collect, each, jsonObject } from './arguments.ts'
import type { Document } from './document.ts'

const TEXTS = [
  ['capability', 'What it makes possible.'],
  ['threat', 'What would endanger it.'],
  ['expectation', 'What is expected to become true.'],
  ['strategy', 'How to achieve it.'],
  ['tradeoff', 'What is given up for it.'],
  ['evidence-summary', 'What shows that it holds, in words.'],
] as const

function share(text: string): number {
  const value = Number(text)
  if (text.trim() === '' || !(value >= 0 && value <= 1))
    throw new InvalidArgumentError('A number from 0 to 1 is expected.')
  return value
}

export function contentOptions(command: Command): Command {
  for (const [name, help] of TEXTS) command.option(`--${name} <text>`, help)
  return command
    .option('--confidence <n>', 'Confidence, from 0 to 1.', share)
    .option('--path <path>', 'A file or folder that it covers. May be repeated.', collect)
    .option('--evidence <text>', 'Required evidence that it holds. May be repeated.', each)
    .option('--optional-evidence <text>', 'Optional evidence that it holds. May be repeated.', each)
    .option('--body <json>', 'Further members of the record, as in the API: a JSON object, or @FILE.', jsonObject)
}

/**
 * The members that were given. Options win over the body. For an existing record (`read`) they replace the lists that
 * they name: the scope's paths, the required evidence, the optional evidence.
 */
export function contentOf(options: any, read: Document = {}): Record<string, unknown> {
  const { title, capability, threat, expectation, strategy, tradeoff, evidenceSummary, confidence } = options
  const said = {
    title,
    capability,
    threat,
    expectation,
    strategy,
    tradeoff,
    evidence_summary: evidenceSummary,
    confidence,
    scope: options.path === undefined ? undefined : { ...(options.body?.scope ?? read.scope), paths: options.path },
    evidence: evidenceOf(options, read),
  }
  return { ...options.body, ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) }
}

function evidenceOf({ evidence, optionalEvidence }: any, read: Document): object[] | undefined {
  if (evidence === undefined && optionalEvidence === undefined) return undefined
  const entries: Document[] = (read.evidence ?? []).map(({ latest: _, ...entry }: any) => entry)
  const named = new Set([...(evidence ?? []), ...(optionalEvidence ?? [])])
  const entryOf = sameEntries(entries)
  const those = (said: readonly string[] | undefined, required: boolean): object[] =>
    said === undefined
      ? entries.filter((one) => one.required === required && !named.has(one.description))
      : said.map((description) => ({ description, ...entryOf(description, required), required }))
  return [...those(evidence, true), ...those(optionalEvidence, false)]
}

/**
 * Matches evidence by its text, so that unchanged entries keep their ids, gates and observations. Each entry is used
 * once; those that are equally required are matched first.
 */
export function sameEntries(
  entries: readonly Document[],
): (description: string, required: boolean) => Document | undefined {
  const left = new Set(entries)
  return (description, required) => {
    const same = [...left].filter((one) => one.description === description)
    const found = same.find((one) => one.required === required) ?? same[0]
    if (found !== undefined) left.delete(found)
    return found
  }
}

const OPTIONS: Readonly<Record<string, readonly string[]>> = {
  scope: ['path'],
  evidence: ['evidence', 'optional-evidence'],
}

/** The option by which this member of the content was given. */
export function optionOf(member: string, options: any): string {
  const names = OPTIONS[member] ?? [member.replaceAll('_', '-')]
  const isGiven = (name: string): boolean => options[name.replaceAll(/-(.)/g, (_, c) => c.toUpperCase())] !== undefined
  return `--${names.find(isGiven) ?? 'body'}`
}
