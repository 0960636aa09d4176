/**
 * What a campaign's definition must satisfy beyond its schema. One place, asked by the machine itself: whatever door a
 * campaign comes in by, it is held to the same.
 */
import type { CampaignContext, CreateCampaign, Evidence } from './context.ts'

/** A gate as it is handed to whoever runs it. */
export interface Gate {
  readonly name: string
  readonly command: string
  readonly required: boolean
  readonly artifacts?: readonly string[]
}

/** Named by the place in the whole of the evidence, from 1. */
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

/** Every fault of the definition, with pointers into the body that it came in. */
export function definitionFaults(
  definition: Pick<CreateCampaign, 'done_evidence' | 'writable_repositories' | 'repository'>,
): readonly DefinitionFault[] {
  const { done_evidence, writable_repositories = [], repository } = definition
  return [
    ...done_evidence.flatMap((evidence, index) => {
      const command = elsewhere(evidence)
      if (command === undefined) return []
      const detail = `asserts what another host or service manager says (${command}): no work can make it so; use a review, or required false`
      return [{ pointer: `/done_evidence/${index}/command`, detail }]
    }),
    ...writable_repositories.flatMap((named, index) =>
      named === repository
        ? []
        : [
            {
              pointer: `/writable_repositories/${index}`,
              detail: 'must be the repository of the project, or be left out',
            },
          ],
    ),
  ]
}

/** Programs whose answer is the state of another machine, or of this one's services. */
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
/** Words of a shell behind which a command stands. */
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

/** The program in a command position that makes a required gate impossible; undefined: none. */
function elsewhere({ kind, command = '', required = true }: Evidence): string | undefined {
  if (kind !== 'gate' || !required) return undefined
  for (const simple of command.split(/[;&|()`\n]|\$\(/)) {
    const words = simple.trim().split(/\s+/)
    // Assignments and the words that only introduce a command.
    const first = words.find((word) => !BEFORE_COMMAND.has(word) && !/^\w+=/.test(word) && !word.startsWith('-'))
    const program = first?.replace(/^["']|["']$/g, '').replace(/^.*\//, '')
    if (program !== undefined && ELSEWHERE.has(program)) return program
  }
  return undefined
}
