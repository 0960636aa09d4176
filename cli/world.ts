/**
 * A command's view of its process, so that tests can run commands without starting processes; and what all commands
 * share: the service's address, the token, and the printer.
 */
import { hostname } from 'node:os'
import { type Client, createClient, isToken } from '../engine/client.ts'
import { MORE_THAN_TOKEN } from '../engine/errors.ts'
import type { Proxies } from '../engine/proxy.ts'
import { adminTokenPath } from '../storage/home/home-paths.ts'
import { CliFailure } from './exit.ts'
import { harmless, jsonText, Printer } from './print.ts'
import { ServiceClock } from './service-clock.ts'
import { defaultUrl, resolveHome } from './settings.ts'
import { readTokenFile } from './token-file.ts'
import { VERSION } from './version.ts'

/** Longest host name in an origin; the rest is for the person's own words. */
const HOST_CHARS_MAX = 64

export interface Sink {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
  /** As for streams of Node.js: too much is buffered, until `drain` says that the reader has taken it. */
  readonly writableNeedDrain?: boolean
  once?(event: 'drain', listener: () => void): unknown
}

export interface World {
  readonly env: NodeJS.ProcessEnv
  readonly stdout: Sink
  readonly stderr: Sink
  /**
   * From now on SIGHUP, SIGINT, SIGQUIT and SIGTERM do not end the process but call this with the number of wishes to
   * stop so far: signals within a second count as one.
   */
  onStopSignal(callback: (count: number) => void): void
  /**
   * From now on the exit code is the outcome of what the command follows: a reader that goes away does not turn it into
   * success.
   */
  owesOutcome(): void
  /**
   * For a command whose work must be kept whoever goes away: from now on SIGTERM calls `onStop` each time, and a reader
   * that goes away calls `onUnheard`; neither ends the process.
   */
  outlive(onStop: () => void, onUnheard: () => void): void
  /** Asks whoever is at the terminal; undefined: there is no terminal. Anything but a yes is a no. */
  confirm(question: string): Promise<boolean> | undefined
  /** Ends the process at once: for a stop that was asked for again, or takes too long. */
  exit(code: number): void
}

/** Options that every command takes. */
export interface GlobalOptions {
  readonly url?: string
  readonly home?: string
  readonly tokenFile?: string
  readonly json?: boolean
  /** For commands that change something. */
  readonly origin?: string
}

export interface Cli {
  readonly world: World
  readonly home: string
  readonly json: boolean
  readonly globals: GlobalOptions
  readonly print: Printer
  readonly client: Client
  readonly clock: ServiceClock
  /** Where this client's token comes from: ENGINE_TOKEN, or the name of a file. */
  readonly tokenFrom: string
  /** Prints a remark on standard error, such as what it waits for: neither output nor failure. */
  note(text: string): void
}

export function openCli(world: World, options: GlobalOptions): Cli {
  const home = resolveHome(options.home, world.env)
  const json = options.json ?? false
  const clock = new ServiceClock()
  const print = new Printer(world.stdout, world.env, clock.nowMs)
  const tokenFile = options.tokenFile ?? adminTokenPath(home)
  let client: Client | undefined
  return {
    world,
    home,
    json,
    globals: options,
    print,
    clock,
    tokenFrom: tokenFrom(tokenFile, options.tokenFile !== undefined, world.env),
    note: (text) => world.stderr.write(`${json ? jsonText({ note: text }) : harmless(text)}\n`),
    get client() {
      client ??= createClient({
        url: serviceUrl(options, world.env, home),
        token: tokenSource(tokenFile, options.tokenFile !== undefined, world.env),
        userAgent: `intendant-cli/${VERSION}`,
        origin: originOf(options.origin),
        proxies: proxiesIn(world.env),
        heard: (headers) => clock.heard(headers),
      })
      return client
    },
  }
}

/** The origin of a change: this machine's name, and the person's own text. */
export function originOf(text: string | undefined): string {
  const host = hostName()
  return text === undefined ? host : `${host} ${text}`
}

function hostName(): string {
  try {
    return hostname().slice(0, HOST_CHARS_MAX) || 'unknown'
  } catch {
    return 'unknown'
  }
}

export function serviceUrl(options: GlobalOptions, env: NodeJS.ProcessEnv, home: string): string {
  const given = options.url ?? nonEmpty(env.ENGINE_URL)
  if (given === undefined) return defaultUrl(home, env)
  const where = options.url === undefined ? 'ENGINE_URL' : '--url'
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new CliFailure(
      `${where} is "${given}", which is not an http:// or https:// URL. Example: http://127.0.0.1:7171`,
    )
  }
  const { username, password } = new URL(given)
  // Node.js would refuse to send the request, with an error like a failed connection that shows the password.
  if (username !== '' || password !== '')
    throw new CliFailure(`${where} contains a user or a password, which is not supported: remove it.`)
  return given
}

/**
 * The proxies in the environment: the lower-case variables, which curl prefers, or the upper-case ones. Throws
 * CliFailure.
 */
export function proxiesIn(env: NodeJS.ProcessEnv): Proxies {
  const [http, https] = (['http_proxy', 'https_proxy'] as const).map((name) => proxyUrl(name, env))
  const no = given(env, 'no_proxy')
  return {
    ...(http === undefined ? {} : { http }),
    ...(https === undefined ? {} : { https }),
    ...(no === undefined ? {} : { no }),
  }
}

/** The value is not shown: it may contain a password. */
function proxyUrl(name: string, env: NodeJS.ProcessEnv): string | undefined {
  const text = given(env, name)
  if (text === undefined) return undefined
  const url = text.includes('://') ? text : `http://${text}`
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url
  throw new CliFailure(
    `${name.toUpperCase()} is not an http:// or https:// URL. Example: http://proxy.example.com:3128`,
  )
}

function given(env: NodeJS.ProcessEnv, name: string): string | undefined {
  return nonEmpty(env[name]) ?? nonEmpty(env[name.toUpperCase()])
}

/**
 * The token's source: a file named on the command line, else ENGINE_TOKEN, else the default file. A file is read before
 * each request, so that a rotated token takes effect; while it is being replaced the last token is used.
 */
export function tokenSource(file: string, named: boolean, env: NodeJS.ProcessEnv): () => string {
  const given = nonEmpty(env.ENGINE_TOKEN)
  if (!named && given !== undefined) {
    if (!isToken(given)) throw new CliFailure(`ENGINE_TOKEN ${MORE_THAN_TOKEN}.`)
    return () => given
  }
  let last: string | undefined
  return () => {
    const read = readTokenFile(file)
    last = read.token ?? last
    if (last !== undefined) return last
    const message = named
      ? `the token file ${file} ${read.fault}.`
      : `there is no token: ENGINE_TOKEN is not set, and ${file} ${read.fault}. Set one, or name a file with --token-file.`
    throw new CliFailure(message, undefined, read.cause)
  }
}

/** The source in words: ENGINE_TOKEN, which never changes, or the file. */
export function tokenFrom(file: string, named: boolean, env: NodeJS.ProcessEnv): string {
  return named || nonEmpty(env.ENGINE_TOKEN) === undefined ? file : 'ENGINE_TOKEN'
}

/** An empty variable counts as unset. */
function nonEmpty(text: string | undefined): string | undefined {
  return text === undefined || text === '' ? undefined : text
}

/** The body of a command: gets its operands and options; returns the exit code (nothing: 0). */
export type Body = (cli: Cli, operands: readonly any[], options: any) => Promise<number | undefined> | Promise<void>
/** Turns a body into a commander action. */
export type Act = (body: Body) => (...args: any[]) => Promise<void>
