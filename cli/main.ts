#!/usr/bin/env -S node --max-semi-space-size=64
/** The package's one binary. It only connects the process's streams and signals to the program. */
import { createInterface } from 'node:readline'
import { isatty } from 'node:tty'
import { EXIT } from './exit.ts'
import { run } from './program.ts'
import type { World } from './world.ts'

const LEFTOVERS_MS = 1_000
/** Signals within this time after one count as the same wish: a person who presses again has first seen the effect. */
const WISH_MS = 1_000

/** On exit Node.js resets terminals to their earlier state, and aborts if one is gone (`node::ResetStdio`). */
const hasTerminal = [0, 1, 2].some((descriptor) => isatty(descriptor))
let isHungUp = false
/** Exit code if the reader of the output has gone away. */
let readerGone: number = EXIT.ok
/** Called when the reader goes away, for a command that goes on without it; undefined: the process ends. */
let onReaderGone: (() => void) | undefined

/** Resolves `stop` when somebody asks a command that handles stop signals itself to stop. */
let isAskedToStop = (): void => {}
const stop = new Promise<void>((resolve) => {
  isAskedToStop = resolve
})

/**
 * Counts wishes to stop: the handler for each signal calls back with their number. One wish often arrives as several
 * signals: Ctrl-C in a terminal goes to the whole process group, and npm, a member of it, forwards it to its child, as
 * do many supervisors. Counted separately, they would kill at once what was asked to end in order.
 */
function counted(callback: (count: number) => void): () => void {
  let count = 0
  let isSameWish = false
  const endWish = (): void => {
    isSameWish = false
  }
  return () => {
    if (isSameWish) return
    isSameWish = true
    // Signals that arrived while the process was suspended are handled before the wish ends.
    setTimeout(() => setImmediate(endWish), WISH_MS).unref()
    count += 1
    callback(count)
  }
}

const world: World = {
  env: process.env,
  stdout: process.stdout,
  stderr: process.stderr,
  onStopSignal(callback) {
    const onSignal = counted((count) => {
      isAskedToStop()
      callback(count)
    })
    for (const signal of ['SIGINT', 'SIGQUIT', 'SIGTERM'] as const) process.on(signal, onSignal)
    // A closing terminal may send SIGHUP more than once, and late (from the kernel and the shell), so only the first
    // counts.
    process.on('SIGHUP', () => {
      if (!isHungUp) onSignal()
      isHungUp = true
    })
  },
  owesOutcome() {
    readerGone = EXIT.readerGone
  },
  outlive(onStop, onUnheard) {
    process.on('SIGTERM', onStop)
    onReaderGone = onUnheard
  },
  confirm(question) {
    if (!isatty(0) || !isatty(2)) return undefined
    const terminal = createInterface({ input: process.stdin, output: process.stderr })
    return new Promise((resolve) => {
      terminal.once('close', () => resolve(false))
      terminal.question(`${question} [y/N] `, (answer) => {
        resolve(/^\s*y(es)?\s*$/i.test(answer))
        terminal.close()
      })
    })
  },
  exit: (code) => process.exit(code),
}

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (onReaderGone !== undefined) {
    onReaderGone()
    return
  }
  // `intendant events | head` closes the pipe when it has seen enough, which is no failure. A known outcome is kept.
  if (error.code === 'EPIPE') process.exit(process.exitCode ?? readerGone)
  process.stderr.write(`intendant: standard output cannot be written: ${error.message}\n`)
  process.exit(EXIT.failed)
})
// The reader of the log, or its terminal, may be gone: work under way is finished without it.
process.stderr.on('error', () => onReaderGone?.())

/** Resolves when everything written has been read, or never will be. */
function drained(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.writableLength === 0) resolve()
    else stream.write('', () => resolve())
  })
}

process.exitCode = await run(process.argv.slice(2), world)
// A slow reader gets all output, unless somebody has asked to stop.
await Promise.race([stop, Promise.all([drained(process.stdout), drained(process.stderr)])])
if (isHungUp && hasTerminal) {
  process.removeAllListeners('SIGHUP')
  process.kill(process.pid, 'SIGHUP')
}
// Handles left open by a failed start must not keep the process alive: its supervisor waits for its end.
setTimeout(() => process.exit(), LEFTOVERS_MS).unref()
