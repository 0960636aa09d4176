/**
 * What whoever starts the runner says of all its runs: variables of the environment, in one table that the command's help is
 * made of, too. An empty variable is one that is not set.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Refused } from './refused.ts'

export interface Settings {
  /** A clone of the project's repository; any number of runs may share it. */
  readonly repository: string
  /** The agent, for `/bin/sh -c`: its prompt comes on standard input, and it works in its current folder. */
  readonly agent: string
  /** What work must pass, for `/bin/sh -c`; undefined: the agent's word is taken. */
  readonly gate: string | undefined
  /** A remote of the clone to which branches are pushed; undefined: they stay in the clone. */
  readonly push: string | undefined
  /** Trunk: the branch of that remote to which goes what has passed; undefined: somebody else lands it. */
  readonly land: string | undefined
  /** A folder. */
  readonly transcripts: string
}

interface Variable {
  readonly name: string
  /** What it holds, in a few words. */
  readonly shape: string
  readonly help: string
  /** What holds where it is not set, in words; undefined: it must be set. */
  readonly byDefault?: string
}

export const VARIABLES = [
  {
    name: 'REPOSITORY',
    shape: 'A folder',
    help: "The clone of the project's repository; any number of runs may share it",
  },
  {
    name: 'AGENT',
    shape: 'A shell command',
    help: 'Any agent that takes its prompt on standard input and works in its current folder',
  },
  {
    name: 'GATE',
    shape: 'A shell command',
    help: 'What the work must pass: it runs in the worktree, and exit code 0 passes',
    byDefault: "none, the agent's word is taken",
  },
  {
    name: 'PUSH',
    shape: 'A remote of REPOSITORY',
    help: 'Where the branch with the work is pushed; it is not kept here then',
    byDefault: 'none, the branch stays in REPOSITORY',
  },
  {
    name: 'LAND',
    shape: 'A branch of PUSH',
    help: 'Trunk: what has passed goes there, never by force. It says nothing without PUSH',
    byDefault: 'none, somebody else lands the work',
  },
  {
    name: 'TRANSCRIPTS',
    shape: 'A folder',
    help: 'Where what agents print is kept, a file for each session',
    byDefault: "intendant-transcripts-UID in the system's temporary folder",
  },
] as const satisfies readonly Variable[]

type Name = (typeof VARIABLES)[number]['name']

/** Throws Refused (`not_configured`) where one is missing that has no default. */
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
    transcripts: given('TRANSCRIPTS') ?? join(tmpdir(), `intendant-transcripts-${process.getuid!()}`),
  }
}
