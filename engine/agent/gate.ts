/** Gates: the check that a task's work must pass, and the checks of a campaign that describe trunk as it is. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { GATE_OUTPUT_LINES_MAX } from '../../machines/bounds.ts'
import type { Gate } from '../../machines/campaign/evidence.ts'
import { MESSAGE_CHARS_MAX } from '../result.ts'
import type { Fault } from './fault.ts'
import type { Run } from './run.ts'
import type { Ended } from './shell.ts'
import { endOf } from './tail.ts'

/**
 * How much of the output of each campaign gate, and of all together, is reported, in characters: the Run Result holds
 * it twice.
 */
const OUTPUT_CHARS_MAX = 16_000
const OUTPUTS_CHARS_MAX = 96_000

/** A gate's result in the form that campaigns quote (SPEC 6.11). */
export interface GateResult {
  readonly name: string
  readonly command: string
  readonly required: boolean
  readonly passed: boolean
  readonly output: string
  /** Absent if a signal ended it. */
  readonly exit_code?: number
}

/**
 * Runs `GATE` on the work in the worktree. Resolves to the fault, or undefined if it passes. Throws GitFailed as
 * `regain` does.
 */
export async function gateFault({ settings: { gate }, shell, worktree }: Run): Promise<Fault | undefined> {
  if (gate === undefined) return undefined
  const ended = await shell.run(gate, { cwd: worktree.path })
  await worktree.regain()
  if (ended.code === 0) return undefined
  return { summary: `the gate does not pass: ${gate}`, diagnosis: outputOf(ended, MESSAGE_CHARS_MAX) }
}

/** Runs a campaign's gates in order. A missing artifact makes a gate fail. A stop skips the remaining gates. */
export async function campaignGates({ work, shell, worktree, stop }: Run): Promise<GateResult[]> {
  const results: GateResult[] = []
  const gates = (work.request.engine.payload.gates ?? []) as readonly Gate[]
  const chars = Math.min(OUTPUT_CHARS_MAX, Math.floor(OUTPUTS_CHARS_MAX / gates.length))
  for (const { name, command, required, artifacts = [] } of gates) {
    if (stop.isMade) break
    const ended = await shell.run(command, { cwd: worktree.path })
    const { code } = ended
    const missing = artifacts
      .filter((path) => !existsSync(join(worktree.path, path)))
      .map((path) => `${path} does not exist`)
    const output = [outputOf(ended, chars), ...missing].filter((text) => text !== '').join('\n')
    const passed = code === 0 && missing.length === 0
    results.push({ name, command, required, passed, output, ...(code !== null && { exit_code: code }) })
  }
  return results
}

/** The end of a gate's output from both streams, so that neither crowds out the other. */
function outputOf({ printed, complained }: Ended, chars: number): string {
  const [out, err] = [lastLines(printed), lastLines(complained)]
  const half = Math.ceil(chars / 2)
  const outEnd = endOf(out, Math.max(half, chars - err.length))
  const errEnd = endOf(err, Math.max(half, chars - out.length))
  return err === '' ? outEnd : `${out === '' ? '' : `${outEnd}\n`}--- stderr ---\n${errEnd}`
}

function lastLines(text: string): string {
  return text.split('\n').slice(-GATE_OUTPUT_LINES_MAX).join('\n')
}
