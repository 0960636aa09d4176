/**
 * Ends what the agent and the gate have started if this process cannot: because it was killed (SIGKILL), or because its
 * runner was and nobody signals their process group any more. A shell waits for that at the end of a pipe which only
 * this process holds. Only on Linux: elsewhere nothing says which processes they are.
 */
import { spawn } from 'node:child_process'
import type { Writable } from 'node:stream'
import { STOP_MS } from './stop-request.ts'

/** The variable by which their processes are known: the path of their worktree, which is each run's own. */
const MARK = 'INTENDANT_WORKTREE'

/** `$1`: the mark as it stands in an environment, `$2`: seconds. A line says that there is nothing to do. */
const SCRIPT = `
read -r _ && exit
signal() {
  for found in $(grep -lzxF -e "$2" /proc/[0-9]*/environ); do
    pid=\${found#/proc/}
    kill -s "$1" "\${pid%/environ}"
  done
}
signal TERM "$1"
sleep "$2"
signal KILL "$1"
`

export class Guard {
  /** To be added to the environment of the commands. */
  readonly mark: Readonly<Record<string, string>>
  #pipe: Writable | undefined

  constructor(worktree: string, { PATH }: NodeJS.ProcessEnv) {
    this.mark = { [MARK]: worktree }
    if (process.platform !== 'linux') return
    const args = ['-c', SCRIPT, 'sh', `${MARK}=${worktree}`, String(STOP_MS / 1_000)]
    // A group of its own, so that whoever kills this one's does not kill it.
    const shell = spawn('/bin/sh', args, {
      cwd: '/',
      env: { PATH },
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    shell.on('error', () => {})
    shell.unref()
    this.#pipe = shell.stdin.on('error', () => {})
  }

  /** Signals all processes of the commands to end, and kills those that have not ended when their time is up. */
  endAll(): void {
    this.#pipe?.end()
  }

  /** The commands are over: what they have left is for the runner to end. */
  leave(): void {
    this.#pipe?.end('\n')
  }
}
