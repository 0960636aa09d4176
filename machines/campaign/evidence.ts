/**
 * What a campaign's definition must satisfy beyond its schema. Checked here only, by the machine itself, so the same
 * holds however a campaign is created.
 */
import type { CampaignContext, CreateCampaign, Evidence } from './context.ts'

/** A gate as it is handed to its runner. */
export interface Gate {
  readonly name: string
  readonly command: string
  readonly required: boolean
  readonly artifacts?: readonly string[]
}

/** Named by its position among all evidence, from 1. */
export function evidenceName(index: number): string {
  return `campaign_done_${index + 1}`
}

export function gatesOf(evidence: CampaignContext['asked']['done_evidence']): readonly Gate[] {
  return evidence.flatMap(({ kind, command, required = true, artifacts }, index) => {
    if (kind !== 'gate') return []
    return [
      { name: evidenceName(index), command: command!, required, ...(artifacts === undefined ? {} : { artifacts }) },
    ]
  })
}

interface DefinitionFault {
  readonly pointer: string
  readonly detail: string
}

/** Every fault of the definition, with pointers into the request body. */
export function definitionFaults(
  definition: Pick<CreateCampaign, 'done_evidence' | 'writable_repositories' | 'repository'>,
): readonly DefinitionFault[] {
  const { done_evidence, writable_repositories = [], repository } = definition
  return [
    ...done_evidence.flatMap((evidence, index) => {
      const command = elsewhere(evidence)
      if (command === undefined) return []
      const detail = `depends on another host or a service manager (${command}), which no task can change: use a review, or required false`
      return [{ pointer: `/done_evidence/${index}/command`, detail }]
    }),
    ...writable_repositories.flatMap((named, index) =>
      named === repository
        ? []
        : [
            {
              pointer: `/writable_repositories/${index}`,
              detail: 'must be the repository of the project, or left out',
            },
          ],
    ),
  ]
}

/** Programs whose result depends on another machine, or on this machine's services. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  'ssh',
  'scp',
  'sftp',
  'rsync',
  'systemctl',
  'launchctl',
  'journalctl',
  'service',
])
/** Shell words that are followed by a command. */
const BEFORE_COMMAND: ReadonlySet<string> = new Set([
  '!',
  '{',
  'if',
  'then',
  'elif',
  'else',
  'while',
  'until',
  'do',
  'sudo',
  'env',
  'exec',
  'time',
  'nohup',
  'command',
])

/** The program in command position that makes a required gate impossible; undefined if there is none. */
function elsewhere({ kind, command = '', required = true }: Evidence): string | undefined {
  if (kind !== 'gate' || !required) return undefined
  for (const simple of command.split(/[;&|()`\n]|\$\(/)) {
    const words = simple.trim().split(/\s+/)
    // Skips assignments, options and the words that only introduce a command.
    const first = words.find((word) => !BEFORE_COMMAND.has(word) && !/^\w+=/.test(word) && !word.startsWith('-'))
    const program = first?.replace(/^["']|["']$/g, '').replace(/^.*\//, '')
    if (program !== undefined && ELSEWHERE.has(program)) return program
  }
  return undefined
}
