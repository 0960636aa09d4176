/**
 * Settings of the agent command, the same for all runs of a runner: environment variables, in one table from which the
 * help is also made. An empty variable counts as not set.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { limitPattern } from './limit.ts'
import { Refused } from './refused.ts'

export interface Settings {
  /** A clone of the project's repository; any number of runs may share it. */
  readonly repository: string
  /** The agent's command, for `/bin/sh -c`. It gets its prompt on standard input and works in its current folder. */
  readonly agent: string
  /** The check that work must pass, for `/bin/sh -c`; undefined: work is not checked. */
  readonly gate: string | undefined
  /** The remote of the clone to which branches are pushed; undefined: they stay in the clone. */
  readonly push: string | undefined
  /** Trunk: the remote's branch on which work that passed lands; undefined: somebody else lands it. */
  readonly land: string | undefined
  /** What an agent prints at its end if its provider is unavailable, beside what is known of common agents. */
  readonly limit: RegExp | undefined
  /** Folder for transcripts. */
  readonly transcripts: string
}

interface Variable {
  readonly name: string
  /** Kind of value, in a few words. */
  readonly shape: string
  readonly help: string
  /** The default, in words; undefined if the variable is required. */
  readonly byDefault?: string
}

export const VARIABLES = [
  {
    name: 'REPOSITORY',
    shape: 'A folder',
    help: "A clone of the project's repository; any number of runs may share it",
  },
  {
    name: 'AGENT',
    shape: 'A shell command',
    help: 'Any agent that reads its prompt from standard input and works in its current folder',
  },
  {
    name: 'GATE',
    shape: 'A shell command',
    help: 'The check that work must pass: it runs in the worktree, and exit code 0 means passed',
    byDefault: "none; the agent's own report is trusted",
  },
  {
    name: 'PUSH',
    shape: 'A remote of REPOSITORY',
    help: 'Where the branch with the work is pushed; it is then not kept in REPOSITORY',
    byDefault: 'none; the branch stays in REPOSITORY',
  },
  {
    name: 'LAND',
    shape: 'A branch of PUSH',
    help: 'Trunk: work that has passed is pushed there, never by force. Needs PUSH',
    byDefault: 'none; somebody else lands the work',
  },
  {
    name: 'AGENT_LIMIT',
    shape: 'A regular expression',
    help: 'What a failed agent prints if its provider is unavailable; a group may hold when it is back',
    byDefault: 'none; common agents and exit code 75 are understood',
  },
  {
    name: 'TRANSCRIPTS',
    shape: 'A folder',
    help: 'Where the output of agents is kept, one file per session',
    byDefault: "intendant-transcripts-UID in the system's temporary folder",
  },
] as const satisfies readonly Variable[]

type Name = (typeof VARIABLES)[number]['name']

/** Throws Refused (`not_configured`) if a required variable is missing. */
export function readSettings(environment: NodeJS.ProcessEnv): Settings {
  const given = (name: Name): string | undefined => environment[name] || undefined
  const [repository, agent] = [given('REPOSITORY'), given('AGENT')]
  if (repository === undefined || agent === undefined) {
    const missing = VARIABLES.filter((one) => !('byDefault' in one) && given(one.name) === undefined)
    const names = missing.map(({ name, shape }) => `${name} (${shape.toLowerCase()})`).join(' and ')
    const message = `${names} must be set where the runner is started: see intendant agent --help`
    throw new Refused('not_configured', message)
  }
  const push = given('PUSH')
  return {
    repository,
    agent,
    gate: given('GATE'),
    push,
    land: push === undefined ? undefined : given('LAND'),
    limit: limitPattern(given('AGENT_LIMIT')),
    transcripts: given('TRANSCRIPTS') ?? join(tmpdir(), `intendant-transcripts-${process.getuid!()}`),
  }
}
