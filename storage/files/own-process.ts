/**
 * A process of its own for what cannot be broken off within this one, or would keep it from serving: it can be killed at any moment,
 * and lives no longer than who began it.
 */
import { type StdioOptions, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** Of what it says. */
const WORDS_MAX = 16_000

/** Sent to a whole group of processes, as by systemd or a terminal, they are for who began it, and gives it up. */
const FOR_ANOTHER = ['SIGTERM', 'SIGINT', 'SIGQUIT', 'SIGHUP'] as const

/**
 * Resolves with what it says on its standard output. Settles only when it has ended. Rejects when it is aborted, and with what it says
 * of its failure on standard error, behind `failed`.
 */
export function ownProcess(script: URL, args: readonly string[], failed: string, signal: AbortSignal): Promise<string> {
  // What this process was started with is for itself: a debugger would hold up the other.
  const { NODE_OPTIONS: _, ...env } = process.env
  return new Promise((resolve, reject) => {
    // Its standard input ends with this process, however that ends, and it with that.
    const stdio: StdioOptions = ['pipe', 'pipe', 'pipe']
    const child = spawn(process.execPath, [fileURLToPath(script), ...args], {
      env,
      stdio,
      signal,
      killSignal: 'SIGKILL',
    })
    const words = { out: '', err: '' }
    let failure: Error | undefined
    child.on('error', (error) => {
      failure ??= error
      // It has not begun, and has no end.
      if (child.pid === undefined) reject(error)
    })
    child.on('close', (code, by) => {
      const end = words.err.trim() || `its process ended with ${by ?? code}`
      if (code === 0) resolve(words.out)
      else reject(failure ?? new Error(`${failed}: ${end}`))
    })
    // Where there are no more files to be had, it has none of the three.
    child.stdin?.on('error', () => {})
    const hear = (of: keyof typeof words) => (text: string) => {
      words[of] = (words[of] + text).slice(0, WORDS_MAX)
    }
    child.stdout?.setEncoding('utf8').on('data', hear('out'))
    child.stderr?.setEncoding('utf8').on('data', hear('err'))
  })
}

/** The other side: does its work, and says what came of it, or what failed. */
export async function workOfOwn(work: (args: readonly string[]) => Promise<string>): Promise<never> {
  for (const signal of FOR_ANOTHER) process.on(signal, () => {})
  // An exit would wait for LMDB's copy, or break under it.
  const end = () => process.kill(process.pid, 'SIGKILL')
  process.stdin.on('end', end).on('error', end).resume()
  const [said, code] = await work(process.argv.slice(2)).then(
    (text) => [text, 0] as const,
    (error: Error) => [error.message, 1] as const,
  )
  const stream = code === 0 ? process.stdout : process.stderr
  await new Promise((resolve) => stream.write(said, resolve))
  process.exit(code)
}
