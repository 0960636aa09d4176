/** The options for the content of a formation brief: its usual parts, and `--body` for all others. */
import type { Command } from 'commander'
import { looksLikeRecordKey } from '../machines/record-key.ts'
import { camel, each, jsonObject } from './arguments.ts'
import type { Document } from './document.ts'
import { IdOption, INTENT_RECORD } from './ids.ts'

const RECORD = '<record>'

/** Options that may be repeated: each occurrence is an entry of the list. */
const LISTS = [
  ['done', '<text>', 'What is true when it is done.', 'mission', 'definition_of_done'],
  ['stop', '<text>', 'What ends the work early.', 'mission', 'stop_conditions'],
  ['product-intent', RECORD, 'A record of product intent that it serves.', 'mission', 'product_intent_refs'],
  ['design-intent', RECORD, 'A record of design intent that it serves.', 'mission', 'design_intent_refs'],
  [
    ...(['engineering-intent', RECORD, 'A record of engineering intent that it serves.'] as const),
    ...(['mission', 'engineering_intent_refs'] as const),
  ],
  ['watch-for', '<text>', 'A pattern that signals drift.', 'threats_to_watch'],
  ['prefer', '<text>', 'A strategy to prefer.', 'strategies_to_prefer'],
  ['forbid', '<text>', 'What not to do.', 'forbidden_moves'],
  ['evidence', '<text>', 'Evidence that is required.', 'evidence_plan', 'required'],
] as const

/** Options that are given once. */
const TEXTS = [
  ['objective', '<text>', 'What to achieve.', 'mission', 'objective'],
  ['entry-event', '<type>', 'The event that starts the work.', 'engine_controls', 'entry_event'],
  ['pattern', '<name>', 'How the agents are set up, such as planner_coder_reviewer.', 'agent_formation', 'pattern'],
  ['repo-path', '<path>', 'The repository, as the runner understands it.', 'repo', 'path'],
  ['revision', '<revision>', 'The revision that it is written for.', 'repo', 'revision'],
  ['branch', '<branch>', 'The branch to work on.', 'repo', 'branch'],
  ['throttle', '<throttle>', 'full may change things, dry_run (the default) only simulates.', 'throttle'],
] as const

/** A record by its key, its id, or the beginning of its id. */
function recordOption(flags: string, help: string): IdOption {
  return new IdOption(flags, help, INTENT_RECORD).argParser(each) as IdOption
}

/** Whether the text only names a record. A brief may also refer to other things, in its own words. */
export function isRecord(text: string): boolean {
  return /^ir_\S*$/.test(text) || looksLikeRecordKey(text)
}

export function briefOptions(command: Command): Command {
  for (const [name, value, help] of TEXTS) command.option(`--${name} ${value}`, help)
  for (const [name, value, help] of LISTS) {
    const words = [`--${name} ${value}`, `${help} May be repeated.`] as const
    if (value === RECORD) command.addOption(recordOption(...words))
    else command.option(...words, each)
  }
  return command
    .addOption(
      recordOption('--protect <text>', 'What must still hold afterwards: a text or a record. May be repeated.'),
    )
    .option('--body <json>', 'Further members of the brief, as in the API: a JSON object, or @FILE.', jsonObject)
}

/** The sections given, laid over the existing ones. Options win over the body. */
export function sectionsOf(options: any, there: Document = {}): Document {
  const sections: Document = { ...options.body }
  if (options.title !== undefined) sections.title = options.title
  for (const [name, , , ...path] of [...TEXTS, ...LISTS]) set(sections, there, path, options[camel(name)])
  const kept = options.protect?.map((said: string) => (isRecord(said) ? { id: said } : { statement: said }))
  set(sections, there, ['protected_capabilities'], kept)
  return sections
}

/** The service takes a section as a whole, so members not given are kept as they were. */
function set(sections: Document, there: Document, [section, member]: readonly string[], value: unknown): void {
  if (value === undefined) return
  if (member === undefined) sections[section!] = value
  else sections[section!] = { ...(sections[section!] ?? there[section!]), [member]: value }
}
