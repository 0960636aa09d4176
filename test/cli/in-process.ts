/** Runs command lines in this process, against a service with scripted answers. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { run } from '../../cli/program.ts'
import type { World } from '../../cli/world.ts'
import { NOWHERE } from '../nowhere.ts'

interface Outcome {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Terminal {
  readonly isTTY?: boolean
  readonly columns?: number
  /** Whether every question is answered with yes or with no; absent if nobody answers. */
  readonly confirms?: boolean
}

/** Runs a command line in this process with the given environment. */
export async function cli(env: Record<string, string>, ...argv: string[]): Promise<Outcome> {
  return await cliOn({}, env, ...argv)
}

/** The same on a terminal. */
export async function cliOn(terminal: Terminal, env: Record<string, string>, ...argv: string[]): Promise<Outcome> {
  return await running(terminal, env, argv).ended
}

interface Running {
  readonly ended: Promise<Outcome>
  /** Sends the next SIGINT or SIGTERM. */
  signal(): void
}

/** Starts a command line that runs until it is signalled. */
export function startCli(env: Record<string, string>, ...argv: string[]): Running {
  return running({}, env, argv)
}

function running(terminal: Terminal, env: Record<string, string>, argv: readonly string[]): Running {
  const { world, signal, out, err } = worldOf(terminal, env)
  return { ended: run(argv, world).then((code) => ({ code, out: out(), err: err() })), signal }
}

interface Watched {
  readonly world: World
  signal(): void
  /** What was written so far. */
  out(): string
  err(): string
}

/** The world of a command, of which the test sees what is written. */
export function worldOf(terminal: Terminal, env: Record<string, string>): Watched {
  let out = ''
  let err = ''
  let signals = 0
  let onSignal = (_: number): void => {}
  const world: World = {
    env: { ENGINE_HOME: NOWHERE, ...env },
    stdout: {
      ...terminal,
      write: (text) => {
        out += text
      },
    },
    stderr: {
      write: (text) => {
        err += text
      },
    },
    onStopSignal: (callback) => {
      onSignal = callback
    },
    owesOutcome: () => {},
    outlive: () => {},
    confirm: () => (terminal.confirms === undefined ? undefined : Promise.resolve(terminal.confirms)),
    exit: () => {},
  }
  const signal = (): void => {
    signals += 1
    onSignal(signals)
  }
  return { world, signal, out: () => out, err: () => err }
}

interface Asked {
  readonly method: string
  readonly url: string
  readonly token: string | undefined
  readonly body: any
}

type Reply = readonly [status: number, body?: unknown, headers?: Record<string, string>]

/** A service that answers each request with `answer`, and records the requests. */
export async function service(
  test: Test,
  answer: (asked: Asked) => Reply,
): Promise<{ env: Record<string, string>; asked: Asked[] }> {
  const asked: Asked[] = []
  const read = async (request: IncomingMessage): Promise<unknown> => {
    let text = ''
    for await (const chunk of request) text += chunk
    return text === '' ? undefined : JSON.parse(text)
  }
  const server = createServer(async (request, response) => {
    const one = {
      method: request.method!,
      url: request.url!,
      token: request.headers.authorization,
      body: await read(request),
    }
    asked.push(one)
    const [status, body, headers = {}] = answer(one)
    response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  test.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { env: { ENGINE_URL: url, ENGINE_TOKEN: 'secret' }, asked }
}
