/** The options for the content of a campaign: a JSON file, and options laid over it. */
import type { Command } from 'commander'
import { CYCLES_MAX, DEFAULT_MAX_CYCLES } from '../machines/bounds.ts'
import { collect, each, integer } from './arguments.ts'
import type { Document } from './document.ts'
import { inputObject } from './input-file.ts'

export function campaignOptions(command: Command): Command {
  return command
    .argument('[file]', 'A JSON file, as in the API; - for standard input.')
    .option('--project <key>', 'Key or id of the project.')
    .option('--name <name>', 'Its name: unique and permanent.')
    .option('--mission <text>', 'What it is to achieve.')
    .option('--gate <command>', 'A command that must succeed on trunk. May be repeated.', each)
    .option('--review <statement>', 'What must be true, as judged by formation. May be repeated.', each)
    .option('--max-cycles <n>', `Tasks that it may dispatch. Default: ${DEFAULT_MAX_CYCLES}.`, integer(1, CYCLES_MAX))
    .option('--escalate-when <text>', 'A condition under which an owner is asked. May be repeated.', each)
    .option('--context <path>', 'A file that formation reads. May be repeated.', collect)
    .option('--provider <name>', 'The provider whose agents work for it.')
    .option('--label <label>', 'A label that the runner must have. May be repeated.', collect)
}

/**
 * The campaign to create. Options replace what the file says; evidence is added to it. Throws CliFailure if the file
 * cannot be used.
 */
export function campaignOf(named: string | undefined, options: any): Document {
  const file = named === undefined ? {} : inputObject(named, 'campaign add')
  const { project, name, mission, gate = [], review = [], maxCycles, escalateWhen, context, provider, label } = options
  const told = file.done_evidence ?? []
  const evidence = [
    ...gate.map((command: string) => ({ kind: 'gate', command })),
    ...review.map((statement: string) => ({ kind: 'review', statement })),
  ]
  const said = {
    project,
    name,
    mission,
    // A value that is no list is for the service to refuse.
    done_evidence: Array.isArray(told) ? [...told, ...evidence] : told,
    budget: maxCycles === undefined ? undefined : { ...file.budget, max_cycles: maxCycles },
    escalation: escalateWhen,
    context_paths: context,
    agent_provider: provider,
    labels: label,
  }
  return { ...file, ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) }
}
